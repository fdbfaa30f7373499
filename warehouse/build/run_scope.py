"""Defines the scope in which models see a run: as stored, or as one side of a comparison."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from biasgrid.warehouse.build.sql_quoting import literal
from biasgrid.warehouse.schemas import TABLES

EARLIER, LATER = "earlier", "later"
"""Run ids of the two sides. Models sort runs by start, then by id."""


@dataclass(frozen=True, slots=True)
class Side:
    """A run with one of its evaluations."""

    name: str
    """EARLIER or LATER."""
    run_id: str
    evaluation_id: str | None
    """The only evaluation whose verdicts count; None: models use the newest verdicts."""
    models: Mapping[str, str] = field(default_factory=dict)
    """Model names mapped to their names on the other side, if they differ."""
    cells: frozenset[str] | None = None
    """The only cells included; None for all."""

    def select(self, table: str, rows: str) -> str:
        """A SELECT of this side's rows of a lake table, given the SQL of its run's rows."""
        columns = TABLES[table].names
        changed = {"run_id": literal(self.name)}
        if table == "runs":
            changed["started_at"] = "null::timestamptz"
        if "model" in columns and self.models:
            changed["model"] = self._rename_models()
        replaced = ", ".join(f"{sql} as {name}" for name, sql in changed.items())
        kept = " and ".join(self._conditions(columns)) or "true"
        return f"select * replace ({replaced}) from {rows} where {kept}"  # noqa: S608 - escaped above

    def _conditions(self, columns: Sequence[str]) -> Iterator[str]:
        if "evaluation_id" in columns and self.evaluation_id is not None:
            yield f"evaluation_id = {literal(self.evaluation_id)}"
        if "cell_id" in columns and self.cells is not None:
            yield f"cell_id in ({', '.join(map(literal, sorted(self.cells)))})" if self.cells else "false"

    def _rename_models(self) -> str:
        names = " ".join(f"when {literal(own)} then {literal(other)}" for own, other in self.models.items())
        return f"case model {names} else model end"
