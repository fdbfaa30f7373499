"""Lets a judge's opinions take the place of oracles' verdicts, where it has qualified on controls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import duckdb
import polars as pl

from biasgrid.tasks.evaluate.controls import TABLE
from biasgrid.tasks.evaluate.decisions import apply_decisions
from biasgrid.tasks.evaluate.judge import DOUBTED, Judgement, current, overrule
from biasgrid.tasks.evaluate.verdicts import verdict_file
from biasgrid.warehouse.build.macros import define
from biasgrid.warehouse.storage.assessments import BLIND, GIVEN, assessments_of_people
from biasgrid.warehouse.storage.assessments import TABLE as ASSESSMENTS
from biasgrid.warehouse.storage.lake import Lake

QUALIFIED: Final = """
    select judge, language
    from statistics.judge_figures('readings')
    where statistics.judge_qualifies(sensitivity, specificity, controls_decided, ?)
"""


@dataclass(frozen=True, slots=True)
class _Evaluation:
    """The newest evaluation of a run, and by what its judge counts."""

    lake: Lake
    run_id: str
    evaluation_id: str
    overrules: bool
    floor: float

    def find_qualified(self) -> set[tuple[str, str]]:
        """Judges whose verdicts count, each with a language."""
        readings = self.lake.read(TABLE, self.run_id, f"{self.evaluation_id}-*")
        if not self.overrules or readings.is_empty():
            return set()
        with duckdb.connect() as session:
            define(session)
            session.register("readings", readings.to_arrow())
            return set(session.execute(QUALIFIED, [self.floor]).fetchall())

    def opinions(self) -> pl.DataFrame:
        """Verdicts of judges on replies that an oracle failed or could not read."""
        rows = self.lake.read(ASSESSMENTS, self.run_id, f"{self.evaluation_id}-*")
        return rows.filter(
            pl.col("assessor_kind") == "model",
            pl.col("purpose") == BLIND,
            pl.col("stratum").is_in(DOUBTED),
            pl.col("state") == GIVEN,
        )

    def settle(self, cell_id: str, opinions: pl.DataFrame) -> None:
        """Stores a cell's verdicts anew: the oracles', a judge's on them, then people's decisions."""
        name = verdict_file(self.evaluation_id, cell_id)
        stored = self.lake.read("verdicts", self.run_id, name)
        verdicts = stored.filter(~pl.col("assessor_kind").is_in(["model", "person"]))
        for (judge,), own in opinions.partition_by("assessor", as_dict=True).items():
            verdicts = pl.concat([verdicts, _judge_rows(verdicts, str(judge), own)])
        people = assessments_of_people(self.lake, self.run_id, cell_id)
        own_people = people.filter(pl.col("evaluation_id") == self.evaluation_id)
        settled = apply_decisions(verdicts, own_people) if own_people.height else verdicts
        if not settled.equals(stored):
            self.lake.write("verdicts", self.run_id, name, settled)


def settle_judges(lake: Lake, run_id: str) -> None:
    """Stores the verdicts of the newest evaluation anew, with those of each judge that qualifies in the language.
    Repeated calls store the same; an evaluation that began before judges had to qualify stays as it is."""
    evaluation = _newest_evaluation(lake, run_id)
    opinions = evaluation.opinions() if evaluation else pl.DataFrame()
    if evaluation is None or opinions.is_empty():
        return
    cells = lake.newest("cells", run_id).select("cell_id", "language")
    in_language = opinions.join(cells, on="cell_id", maintain_order="left")
    qualified = pl.DataFrame(
        [*evaluation.find_qualified()], {"assessor": pl.String, "language": pl.String}, orient="row"
    )
    counted = in_language.join(qualified, on=["assessor", "language"], how="semi", maintain_order="left")
    for cell_id in opinions["cell_id"].unique().sort():
        evaluation.settle(cell_id, counted.filter(pl.col("cell_id") == cell_id))


def _newest_evaluation(lake: Lake, run_id: str) -> _Evaluation | None:
    criteria = lake.read("criteria", run_id).sort("evaluation_id", "recorded_at").tail(1)
    if criteria.is_empty() or criteria["judge_overrules"][0] is None:
        return None
    overrules, floor = criteria["judge_overrules"][0], criteria["judge_floor"][0]
    return _Evaluation(lake, run_id, criteria["evaluation_id"][0], overrules, floor)


def _judge_rows(verdicts: pl.DataFrame, judge: str, opinions: pl.DataFrame) -> pl.DataFrame:
    """The rows by which a judge's opinions supersede `verdicts`."""
    unit = ("case_id", "response_id")
    standing = current(verdicts).filter(pl.col("level") == "instance").select(*unit, "verdict_id")
    rows = opinions.select(*unit, judged="outcome", why="reason").join(standing, on=unit, maintain_order="left")
    judgements = {row["verdict_id"]: Judgement(row["judged"], row["why"]) for row in rows.iter_rows(named=True)}
    return overrule(verdicts, judgements, judge, max(opinions["assessed_at"]))
