"""How a run ended, read from the marts: findings, completeness and the exit code."""

from __future__ import annotations

import shlex
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

from biasgrid.catalogs.choices import Gate as Gate
from biasgrid.warehouse.storage.lake import Lake

MET, NOT_MET, INCOMPLETE, UNDECIDED, INTERRUPTED = 0, 1, 3, 4, 130
"""Exit codes of runs; 2 is that of an error in what was given."""
Rows = list[dict[str, Any]]
EXITS: Final[Mapping[int, str]] = {
    MET: "nothing is below what is required",
    NOT_MET: "at least one requirement is not met, or has no answer",
    INCOMPLETE: "the run is incomplete",
    UNDECIDED: "nothing fails, and something is not proven",
}
"""What the codes of ended runs mean."""


def resume_command(run_id: str, data: str) -> str:
    """The command that asks what has no reply."""
    return shlex.join(["biasgrid", "resume", run_id, "--data", data])


@dataclass(frozen=True, kw_only=True)
class Ended(ABC):
    """How a run of any kind ended."""

    title: ClassVar[str]
    run_id: str
    incomplete: bool
    failures: list[tuple[str, int]]
    """Failure reasons of requests without a reply, with counts, most frequent first."""
    places: dict[str, Path | str]
    """Locations of the results."""

    @property
    @abstractmethod
    def counts(self) -> str:
        """Counts of the findings, in words."""

    @property
    @abstractmethod
    def met(self) -> bool:
        """Whether a complete run found nothing to fail it."""

    @property
    def is_unproven(self) -> bool:
        """Whether all that is lacking is proof that what is not shown is below a bound."""
        return False

    @property
    def exit_code(self) -> int:
        """Incomplete before not met before undecided before met."""
        if self.incomplete or self.met:
            return INCOMPLETE if self.incomplete else MET
        return UNDECIDED if self.is_unproven else NOT_MET

    def exit_code_by(self, gate: Gate) -> int:
        """The exit code; only benchmarks have gates."""
        return self.exit_code

    @property
    def headline(self) -> str:
        return f"{self.title} {self.run_id}: {self.counts}{', incomplete' if self.incomplete else ''}"

    @property
    def warning(self) -> str:
        """The headline and, of an incomplete run, its most frequent failure."""
        why = f"; {self.failures[0][1]:,} × {self.failures[0][0]}" if self.incomplete and self.failures else ""
        return f"{self.headline}{why}"

    def __str__(self) -> str:
        return self.warning


class EndedByBound(Ended):
    """How a run ended whose findings each have a state by a bound."""

    @property
    @abstractmethod
    def rows(self) -> Sequence[Mapping[str, Any]]:
        """Findings with their `state` and `bound`; the bound is None where the file states none."""

    @property
    def met(self) -> bool:
        """No finding is not met or not evaluated; with a bound, each is proven to be below it."""
        return all(
            row["state"] == "met" or (row["state"] == "undecided" and row["bound"] is None) for row in self.rows
        )

    @property
    def is_unproven(self) -> bool:
        """Whether some findings, which have a bound, are undecided, and the others met."""
        return {row["state"] for row in self.rows} in ({"undecided"}, {"undecided", "met"})


def proof_lines(rows: Sequence[Mapping[str, Any]], key: str, what: str) -> list[str]:
    """How many of `what` the bound decides, and that the others are not proven; `key` is that of the bound."""
    states = Counter(row["state"] for row in rows)
    lines = [f"met: {states['met']} of {len(rows)} {what}, below `{key}`"] if states["met"] else []
    if not states["undecided"]:
        return lines
    if any(row["bound"] is not None for row in rows):
        why = f"the 95% interval reaches `{key}`"
    else:
        why = f"`{key}` in the file states what to prove"
    return [*lines, f"not proven: {states['undecided']} of {len(rows)} {what}", f"  {why}"]


def places_of(lake: Lake) -> dict[str, Path | str]:
    """Locations of a run's results."""
    return {"lake": lake.display_path(lake.root / "lake"), "warehouse": lake.display_path(lake.database)}


FAILURES = """
    select error_class || ': ' || any_value(error_message) as reason, count(*) as requests
    from staging.stg_responses
    where run_id = ? and is_answer and error_class is not null
    group by model, error_class
    order by requests desc
"""


def counted_failures(rows: list[dict[str, Any]]) -> list[tuple[str, int]]:
    """Rows of FAILURES as reasons with their numbers."""
    return [(row["reason"], row["requests"]) for row in rows]


def end_fields(lake: Lake, run_id: str, found: Rows, covered: Rows, failed: Rows) -> dict[str, Any]:
    """The fields of `Ended`: a run is complete with findings, and enough replies of each model. `covered`: rows of
    `coverage_query`, `failed`: of FAILURES."""
    return {
        "run_id": run_id,
        "incomplete": not found or not all(row["is_covered"] for row in covered),
        "failures": counted_failures(failed),
        "places": places_of(lake),
    }


def read_rows(lake: Lake, run_id: str, *queries: str, texts: bool = False) -> list[list[dict[str, Any]]]:
    """Rows of each query about a run; `texts`: with its messages. Raises UserError if there is no warehouse."""
    from biasgrid.warehouse.build.build import connect, fetch_rows

    with connect(lake, texts_of=run_id if texts else None) as warehouse:
        return [fetch_rows(warehouse, sql, [run_id]).to_dicts() for sql in queries]


def coverage_query(answered: str, source: str) -> str:
    """SQL: whether the share `answered` of a model's rows in `source` reaches the demanded coverage."""
    return f"""
    select
        model,
        {answered}
            >= any_value((runs.scenario_resolved::json -> 'asking' ->> 'coverage')::double) as is_covered
    from {source}
    inner join staging.stg_runs as runs using (run_id)
    where run_id = ?
    group by model
"""  # noqa: S608 - both are constants
