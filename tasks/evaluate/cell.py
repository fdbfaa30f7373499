"""Computes the verdicts of cells: by oracles, by an optional judge, and by people's decisions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import polars as pl

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.tasks.connectors.rereading import files_of_replies, reread
from biasgrid.tasks.evaluate.current_oracles import find_changes, with_rules
from biasgrid.tasks.evaluate.decisions import apply_decisions, carry_over, units
from biasgrid.tasks.evaluate.evaluate import judge_cases
from biasgrid.tasks.evaluate.judge import assessments, select_contested
from biasgrid.tasks.evaluate.second_opinions import JudgeSession, SecondOpinions
from biasgrid.tasks.evaluate.verdicts import Judging, verdict_file
from biasgrid.warehouse.storage.assessments import TABLE, assessments_of_people, empty_assessments
from biasgrid.warehouse.storage.lake import Lake, read_again_if_compacted
from biasgrid.warehouse.storage.runs import split_cells


@dataclass(frozen=True, slots=True)
class Evaluation:
    """By what the replies of a run are judged."""

    evaluation_id: str
    catalog: Catalog
    judge: JudgeSession | None = None
    rules: pl.DataFrame | None = None
    """Oracles in place of those that the cases were planned with."""
    readings: SharedReadings | None = None
    """Of all cells that are evaluated at the same time."""


READ_TOGETHER = 5_000
"""Cases of several cells that are read at once, because reading a few takes as long as reading thousands."""
Judged = tuple[str, pl.DataFrame, pl.DataFrame]
"""A cell's id, its cases and the oracles' verdicts on them."""
Judge = Callable[[pl.DataFrame, Sequence[pl.LazyFrame], Judging], pl.DataFrame]
"""The verdicts on cases by their replies: one of the functions of this room."""


async def evaluate_cells(lake: Lake, run_id: str, cell_ids: Sequence[str], evaluation: Evaluation) -> int:
    """Stores the verdicts on the replies of cells and returns their number; a repeated call overwrites them and
    reuses the judge's replies. People's decisions on the same replies and rules still count. A judge's opinions
    are stored, and count from `settle_judges` on."""
    run = _Run(lake, run_id, evaluation, datetime.now(UTC))
    readings = evaluation.readings or SharedReadings()
    landed = 0
    for together in await asyncio.to_thread(split_cells, lake, run_id, cell_ids, READ_TOGETHER):
        for cell_id in together:
            judged = await readings.judge(run, cell_id, together)
            opined = await run.ask_judge(*judged)
            landed += await asyncio.to_thread(run.land, *judged, opined)
    return landed


def land_readings(lake: Lake, run_id: str, cell_ids: Sequence[str], evaluation: Evaluation, judge: Judge) -> int:
    """Stores the verdicts of `judge` alone on the replies of cells and returns their number; a repeated call
    overwrites them."""
    run = _Run(lake, run_id, evaluation, datetime.now(UTC))
    landed = 0
    for together in split_cells(lake, run_id, cell_ids, READ_TOGETHER):
        for cell_id, _, verdicts in run.judge(together, judge):
            lake.write("verdicts", run_id, run.file(cell_id), verdicts)
            landed += verdicts.height
    return landed


def decide_again(lake: Lake, run_id: str, cell_id: str, evaluation_id: str) -> None:
    """Stores a cell's verdicts again with people's later decisions, without any request to a judge."""
    name = verdict_file(evaluation_id, cell_id)
    people = assessments_of_people(lake, run_id, cell_id).filter(pl.col("evaluation_id") == evaluation_id)
    lake.write("verdicts", run_id, name, apply_decisions(lake.read("verdicts", run_id, name), people))


@dataclass(frozen=True, slots=True)
class _Run:
    """A run whose cells are evaluated."""

    lake: Lake
    run_id: str
    evaluation: Evaluation
    now: datetime

    def judge(self, cell_ids: Sequence[str], judge: Judge) -> list[Judged]:
        """The verdicts on cells, read together."""
        cases = self.lake.read("cases", self.run_id, cell_ids)
        if (rules := self.evaluation.rules) is not None:
            for (cell_id,), own in cases.partition_by("cell_id", as_dict=True).items():
                self._land_changes(str(cell_id), find_changes(own, rules))
            cases = with_rules(cases, rules)
        reread(self.lake, self.run_id, cell_ids, self.evaluation.catalog.target)
        evaluation = self.evaluation
        by = Judging(evaluation.catalog.languages, evaluation.evaluation_id, self.now)
        verdicts = read_again_if_compacted(lambda: judge(cases, self._replies(cell_ids), by))
        return [
            (one, cases.filter(pl.col("cell_id") == one), verdicts.filter(pl.col("cell_id") == one))
            for one in cell_ids
        ]

    def _replies(self, cell_ids: Sequence[str]) -> list[pl.LazyFrame]:
        """One frame per file: the replies of a cell may be more than fits into memory."""
        return [*self.lake.scan_each("responses", self.run_id, files_of_replies(cell_ids))]

    def file(self, cell_id: str) -> str:
        return verdict_file(self.evaluation.evaluation_id, cell_id)

    def _land_changes(self, cell_id: str, changes: pl.DataFrame) -> None:
        if changes.height:
            keys = {"run_id": self.run_id, "evaluation_id": self.evaluation.evaluation_id, "cell_id": cell_id}
            rows = changes.with_columns(**{key: pl.lit(value) for key, value in keys.items()})
            self.lake.write("rules", self.run_id, self.file(cell_id), rows)

    async def ask_judge(self, cell_id: str, cases: pl.DataFrame, verdicts: pl.DataFrame) -> pl.DataFrame:
        """The judge's assessments of a cell's verdicts, if there is a judge."""
        evaluation = self.evaluation
        if (judge := evaluation.judge) is None:
            return empty_assessments()
        doubted = select_contested(cases, verdicts, judge.sampling)
        asked = SecondOpinions(
            self.lake, self.run_id, cell_id, evaluation.evaluation_id, evaluation.catalog, judge, self.now
        )
        return assessments(doubted, verdicts, await asked.ask(doubted), judge.target.model, self.now)

    def land(self, cell_id: str, cases: pl.DataFrame, verdicts: pl.DataFrame, opined: pl.DataFrame) -> int:
        """Stores verdicts and assessments, with people's decisions."""
        evaluation_id = self.evaluation.evaluation_id
        people = assessments_of_people(self.lake, self.run_id, cell_id)
        if people.height:
            taken_over = carry_over(people, units(cases, verdicts), evaluation_id)
            own = people.filter((pl.col("evaluation_id") == evaluation_id) & pl.col("carried_from").is_null())
            opined = pl.concat([opined, taken_over])
            verdicts = apply_decisions(verdicts, pl.concat([own, taken_over]))
        if opined.height:
            self.lake.write(TABLE, self.run_id, self.file(cell_id), opined)
        self.lake.write("verdicts", self.run_id, self.file(cell_id), verdicts)
        return verdicts.height


class SharedReadings:
    """Reads complete cells that wait for their evaluation along with the cell whose turn it is: a few replies take
    as long as thousands. Used within one event loop."""

    def __init__(self) -> None:
        self.waiting: dict[str, int] = {}
        """Complete cells and their numbers of cases, in the order of completion."""
        self._readings: dict[str, asyncio.Task[list[Judged]]] = {}

    async def judge(self, run: _Run, cell_id: str, together: Sequence[str]) -> Judged:
        """The oracles' verdicts on a cell, which is read with those of `together` and others, unless it was."""
        if cell_id not in self._readings:
            own = [one for one in together if one not in self._readings]
            cells = [*own, *self._select_waiting(own)]
            reading = asyncio.create_task(asyncio.to_thread(run.judge, cells, judge_cases))
            self._readings |= dict.fromkeys(cells, reading)
            for one in cells:
                self.waiting.pop(one, None)
        reading = self._readings.pop(cell_id)
        try:
            return next(judged for judged in await reading if judged[0] == cell_id)
        except BaseException:  # a second try reads again
            self._readings = {one: other for one, other in self._readings.items() if other is not reading}
            raise

    def _select_waiting(self, own: Sequence[str]) -> Iterator[str]:
        """Waiting cells that are small enough to be read with `own`."""
        room = READ_TOGETHER - sum(self.waiting.get(cell_id, READ_TOGETHER) for cell_id in own)
        for cell_id, cases in self.waiting.items():
            if cell_id not in own and cases <= room:
                room -= cases
                yield cell_id
