"""Computes a cell's verdicts: by oracles, by an optional judge, and by people's decisions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import polars as pl

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.models import Target
from biasgrid.catalogs.schema.oracle import Oracle
from biasgrid.tasks.connectors.api import Answer, Message
from biasgrid.tasks.connectors.client.model_pool import ModelPool
from biasgrid.tasks.connectors.client.retry import RetryBudget
from biasgrid.tasks.connectors.rereading import reread
from biasgrid.tasks.connectors.rows import fingerprint, response_row, sent_parameters, to_request
from biasgrid.tasks.connectors.workers import Workers
from biasgrid.tasks.evaluate.controls import TABLE as CONTROLS
from biasgrid.tasks.evaluate.controls import ControlQuestion, control_rows, shuffle
from biasgrid.tasks.evaluate.current_oracles import find_changes, with_rules
from biasgrid.tasks.evaluate.decisions import apply_decisions, carry_over, units
from biasgrid.tasks.evaluate.evaluate import join_texts, judge_cell, judge_decisions
from biasgrid.tasks.evaluate.judge import (
    JUDGEMENT_TOKENS,
    JudgeReply,
    JudgeSampling,
    Opinion,
    assessments,
    judge_request,
    opinions,
    select_contested,
)
from biasgrid.warehouse.hashing import content_hash
from biasgrid.warehouse.storage.assessments import TABLE, assessments_of_people, empty_assessments
from biasgrid.warehouse.storage.journal import Journal
from biasgrid.warehouse.storage.lake import Lake, read_again_if_compacted

Spare = Callable[[pl.DataFrame], None]
"""Stores a judge's replies of other runs that answer these requests (request_key, case_id, cell_id)."""
Question = dict[str, Any]
"""A request to the judge, as a case."""


@dataclass(frozen=True, slots=True)
class JudgeSession:
    """The model that gives second opinions, and how it is asked."""

    target: Target
    model_pool: ModelPool
    retries: int = 3
    spare: Spare | None = None
    sampling: JudgeSampling = field(default_factory=JudgeSampling)
    """Selects the replies that the judge receives."""
    controls: Mapping[str, Sequence[ControlQuestion]] = field(default_factory=dict)
    """Replies of known verdict that it receives among them, by the cell with which they are mixed."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """By what the replies of a run are judged."""

    evaluation_id: str
    catalog: Catalog
    judge: JudgeSession | None = None
    rules: pl.DataFrame | None = None
    """Oracles in place of those that the cases were planned with."""


async def evaluate_cell(lake: Lake, run_id: str, cell_id: str, evaluation: Evaluation) -> int:
    """Stores the verdicts on a cell's replies and returns their number; a repeated call overwrites them and reuses
    the judge's replies. People's decisions on the same replies and rules still count. A judge's opinions are
    stored, and count from `settle_judges` on."""
    cell = _Cell(lake, run_id, cell_id, evaluation, datetime.now(UTC))
    cases, verdicts = await asyncio.to_thread(cell.judge_by_oracles)
    opined = empty_assessments()
    if judge := evaluation.judge:
        doubted = select_contested(cases, verdicts, judge.sampling)
        given = await cell.ask_judge(doubted, judge)
        opined = assessments(doubted, verdicts, given, judge.target.model, cell.now)
    return await asyncio.to_thread(cell.land, cases, verdicts, opined)


def decide_again(lake: Lake, run_id: str, cell_id: str, evaluation_id: str) -> None:
    """Stores a cell's verdicts again with people's later decisions, without any request to a judge."""
    name = f"{evaluation_id}-{cell_id}"
    people = assessments_of_people(lake, run_id, cell_id).filter(pl.col("evaluation_id") == evaluation_id)
    lake.write("verdicts", run_id, name, apply_decisions(lake.read("verdicts", run_id, name), people))


@dataclass(frozen=True, slots=True)
class _Cell:
    lake: Lake
    run_id: str
    cell_id: str
    evaluation: Evaluation
    now: datetime

    @property
    def file(self) -> str:
        return f"{self.evaluation.evaluation_id}-{self.cell_id}"

    def judge_by_oracles(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Cases and the oracles' verdicts."""
        cases = self.lake.read("cases", self.run_id, self.cell_id)
        if (rules := self.evaluation.rules) is not None:
            self._land_changes(find_changes(cases, rules))
            cases = with_rules(cases, rules)
        catalog = self.evaluation.catalog
        reread(self.lake, self.run_id, self.cell_id, catalog.target)

        def judge() -> pl.DataFrame:
            return judge_cell(cases, self.replies(), catalog.languages, self.evaluation.evaluation_id, self.now)

        return cases, read_again_if_compacted(judge)

    def replies(self) -> list[pl.LazyFrame]:
        """One frame per file of the cell's replies: all of them may be more than fits into memory."""
        return [*self.lake.scan_each("responses", self.run_id, f"{self.cell_id}-*")]

    def _land_changes(self, changes: pl.DataFrame) -> None:
        if changes.height:
            keys = {"run_id": self.run_id, "evaluation_id": self.evaluation.evaluation_id, "cell_id": self.cell_id}
            rows = changes.with_columns(**{key: pl.lit(value) for key, value in keys.items()})
            self.lake.write("rules", self.run_id, self.file, rows)

    def land(self, cases: pl.DataFrame, verdicts: pl.DataFrame, opined: pl.DataFrame) -> int:
        """Stores verdicts and assessments, with people's decisions."""
        evaluation_id = self.evaluation.evaluation_id
        people = assessments_of_people(self.lake, self.run_id, self.cell_id)
        if people.height:
            taken_over = carry_over(people, units(cases, verdicts), evaluation_id)
            own = people.filter((pl.col("evaluation_id") == evaluation_id) & pl.col("carried_from").is_null())
            opined = pl.concat([opined, taken_over])
            verdicts = apply_decisions(verdicts, pl.concat([own, taken_over]))
        if opined.height:
            self.lake.write(TABLE, self.run_id, self.file, opined)
        self.lake.write("verdicts", self.run_id, self.file, verdicts)
        return verdicts.height

    async def ask_judge(self, doubted: pl.DataFrame, judge: JudgeSession) -> dict[str, Opinion]:
        """The judge's opinions by what they are about: doubted verdicts, and controls among them.

        The texts of one file of replies are in memory at a time."""
        given: dict[str, Opinion] = {}
        keys: dict[str, str] = {}
        parts = self.replies()
        parts = parts[1:] or parts  # the first is empty
        own_controls = judge.controls.get(self.cell_id, ())
        for place, part in enumerate(parts):
            controls = own_controls[place :: len(parts)]
            block = await asyncio.to_thread(self._questions, join_texts(doubted, part), controls, judge)
            doubted = doubted.filter(~pl.col("verdict_id").is_in([one["about"] for one in block]))
            given |= await self._opinions(block, judge)
            keys |= {one["about"]: one["request_key"] for one in block}
        await asyncio.to_thread(self._land_controls, keys, given, judge)
        return given

    def _questions(
        self, doubted: pl.DataFrame, controls: Iterable[ControlQuestion], judge: JudgeSession
    ) -> list[Question]:
        """What the judge is asked: about each doubted verdict and each control, shuffled."""
        asked = [*self._own_questions(doubted, judge.target), *self._control_questions(controls, judge.target)]
        return shuffle(asked, lambda question: question["about"], judge.sampling.seed)

    async def _opinions(self, asked: Sequence[Question], judge: JudgeSession) -> dict[str, Opinion]:
        """The judge's opinions on a block of questions; every reply is stored before it is read."""
        answers = await asyncio.to_thread(self._stored_answers, asked, judge.spare)
        journal = Journal(self.lake, self.run_id, f"judge-{self.cell_id}")

        def land(case: Question, answer: Answer) -> None:
            journal.append(response_row(case, judge.target, answer, purpose="judge"))
            if answer.reply is not None:
                answers[case["request_key"]] = JudgeReply(answer.reply.text, answer.reply.finish_reason)

        try:
            workers = Workers(
                judge.model_pool, judge.target, to_request, land, judge.retries, share=land, budget=RetryBudget()
            )
            await workers.answer_all(_open_questions(asked, answers).values())
        finally:
            await asyncio.shield(asyncio.to_thread(journal.land))
        read = opinions(answers, self.evaluation.catalog.languages.values())
        return {one["about"]: read[one["request_key"]] for one in asked if one["request_key"] in read}

    def _land_controls(self, keys: Mapping[str, str], given: Mapping[str, Opinion], judge: JudgeSession) -> None:
        """Stores what the judge made of the controls."""
        sent = [(question, keys[question.case_id]) for question in judge.controls.get(self.cell_id, ())]
        unit = {
            "run_id": self.run_id,
            "evaluation_id": self.evaluation.evaluation_id,
            "cell_id": self.cell_id,
            "judge": judge.target.model,
        }
        if sent:
            self.lake.write(CONTROLS, self.run_id, self.file, control_rows(sent, given, unit, self.now))

    def _stored_answers(self, asked: Sequence[Question], spare: Spare | None) -> dict[str, JudgeReply]:
        """The judge's replies to `asked` in the lake, by request key, those of other runs included."""
        answers = self._read_stored(asked)
        wanted = _open_questions(asked, answers)
        if spare is None or not wanted:
            return answers
        spare(pl.DataFrame([*wanted.values()]).select("request_key", "case_id", "cell_id"))
        return self._read_stored(asked)

    def _read_stored(self, asked: Iterable[Question]) -> dict[str, JudgeReply]:
        keys = pl.Series([one["request_key"] for one in asked], dtype=pl.String).implode()

        def read() -> pl.DataFrame:
            rows = self.lake.scan("responses", self.run_id, f"judge-{self.cell_id}-*")
            replies = rows.filter(pl.col("text").is_not_null(), pl.col("request_key").is_in(keys))
            return replies.select("request_key", "text", "finish_reason").collect(engine="streaming")

        return {key: JudgeReply(*reply) for key, *reply in read_again_if_compacted(read).iter_rows()}

    def _own_questions(self, doubted: pl.DataFrame, judge: Target) -> Iterator[Question]:
        for row in doubted.iter_rows(named=True):
            messages = judge_request(row["messages"], row["text"], Oracle.model_validate_json(row["oracle"]))
            yield self._question(row["verdict_id"], row["case_id"], messages, judge)

    def _control_questions(self, controls: Iterable[ControlQuestion], judge: Target) -> Iterator[Question]:
        for one in controls:
            yield self._question(one.case_id, one.case_id, one.request(), judge)

    def _question(self, about: str, case_id: str, messages: Sequence[Message], judge: Target) -> Question:
        content = [{"role": message.role, "content": message.content} for message in messages]
        sent = sent_parameters(judge, temperature=0.0, max_tokens=JUDGEMENT_TOKENS, seed=0)
        return {
            "run_id": self.run_id,
            "cell_id": self.cell_id,
            "case_id": case_id,
            "about": about,
            "messages": content,
            "parameters": sent,
            "sample": 1,
            "request_key": content_hash("judge", fingerprint(judge, self.evaluation.catalog), sent, content),
        }


def _open_questions(asked: Iterable[Question], answers: dict[str, JudgeReply]) -> dict[str, Question]:
    """One question per request key without an answer: equal samples are doubted alike."""
    return {one["request_key"]: one for one in asked if one["request_key"] not in answers}


def land_decisions(lake: Lake, run_id: str, cell_id: str, evaluation_id: str, catalog: Catalog) -> int:
    """Stores the verdicts on one cell of an audit and returns their number; a repeated call overwrites them."""
    cases = lake.read("cases", run_id, cell_id)
    reread(lake, run_id, cell_id, catalog.target)

    def judge() -> pl.DataFrame:
        replies = list(lake.scan_each("responses", run_id, f"{cell_id}-*"))
        return judge_decisions(cases, replies, catalog.languages, evaluation_id, datetime.now(UTC))

    verdicts = read_again_if_compacted(judge)
    lake.write("verdicts", run_id, f"{evaluation_id}-{cell_id}", verdicts)
    return verdicts.height
