"""Resolves `RUN[@EVALUATION]` to a run and one of its evaluations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.warehouse.schemas import BENCHMARK
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import Run, find_run

SHOWN = 20
"""Number of evaluations that an error lists, newest first."""


@dataclass(frozen=True)
class Chosen:
    """A run by one of its evaluations. `evaluations` are all it has, oldest first."""

    run: Run
    evaluation_id: str
    evaluations: tuple[str, ...]
    criteria: pl.DataFrame
    """Criteria of the evaluation, columns as CRITERIA; empty if the run is no benchmark."""

    @property
    def is_newest(self) -> bool:
        return self.evaluation_id == self.evaluations[-1]

    @property
    def filtered(self) -> str | None:
        """The evaluation whose verdicts alone count; None where the newest verdict on each reply does: a run that
        is no benchmark may have read some of its replies, when it went on, by an earlier one."""
        return None if self.is_newest and self.run.kind != BENCHMARK else self.evaluation_id

    @property
    def name(self) -> str:
        """The name as commands take it."""
        return self.run.run_id if self.is_newest else f"{self.run.run_id}@{self.evaluation_id}"

    @cached_property
    def catalog_hashes(self) -> str:
        """Hashes, as JSON, of the catalog files of the evaluation, or of the run if the evaluation has none."""
        return self._find_recorded("catalog_hashes") or self.run.catalog_hashes

    @cached_property
    def versions(self) -> str:
        """Versions, as JSON, of the packages of the evaluation, or of the run if the evaluation has none."""
        return self._find_recorded("versions") or self.run.versions

    def _find_recorded(self, column: str) -> str | None:
        found = self.criteria[column].drop_nulls()
        return None if found.is_empty() else str(found[0])


def choose_evaluation(lake: Lake, named: str) -> Chosen:
    """The run of that name and the evaluation after its `@`, by default the newest; a unique beginning or end
    of either is enough. Raises UserError if one is unknown or the run was never judged."""
    run_name, _, evaluation = named.partition("@")
    if not run_name:
        raise UserError(Problem(f"`{named}` names no run", remedy="see `biasgrid runs`"))
    run = find_run(lake, run_name, needs="comparison")
    criteria = lake.read("criteria", run.run_id)
    judged = criteria.lazy() if run.kind == BENCHMARK else lake.scan("verdicts", run.run_id)
    known = sorted(judged.select("evaluation_id").unique().collect()["evaluation_id"])
    if not known:
        remedy = f"go on with `biasgrid resume {run.run_id}`"
        remedy += f", or judge it with `biasgrid evaluate {run.run_id}`" if run.kind == BENCHMARK else ""
        raise UserError(Problem(f"run `{run.run_id}` was never judged", lake.named, remedy))
    found = _evaluation(run, evaluation, known) if "@" in named else known[-1]
    return Chosen(run, found, tuple(known), criteria.filter(pl.col("evaluation_id") == found))


def _evaluation(run: Run, named: str, known: Sequence[str]) -> str:
    wanted = named.upper()
    found = [one for one in known if wanted and (one.startswith(wanted) or one.endswith(wanted))]
    if len(found) == 1:
        return found[0]
    what = f"evaluation `{named}` is unknown" if not found else f"evaluation `{named}` may be any of {len(found)}"
    raise UserError(Problem(what, f"run {run.run_id}", list_evaluations(known)))


def list_evaluations(known: Sequence[str]) -> str:
    """The known evaluations, as the remedy of an error."""
    listed = ", ".join(f"`{one}`" for one in known[-SHOWN:])
    older = f" and {len(known) - SHOWN} older ones" if len(known) > SHOWN else ""
    return f"it has {listed}{older}, oldest first"
