"""A judge's second opinions on the verdicts of a cell: asked, stored as received, and read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import polars as pl

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.models import Target
from biasgrid.catalogs.schema.oracle import Oracle
from biasgrid.tasks.connectors.api import Answer, Message
from biasgrid.tasks.connectors.client.model_pool import ModelPool
from biasgrid.tasks.connectors.client.retry import RetryBudget
from biasgrid.tasks.connectors.rows import fingerprint, response_row, sent_parameters, to_request
from biasgrid.tasks.connectors.workers import Workers
from biasgrid.tasks.evaluate.controls import TABLE as CONTROLS
from biasgrid.tasks.evaluate.controls import ControlQuestion, control_rows, shuffle
from biasgrid.tasks.evaluate.evaluate import join_texts
from biasgrid.tasks.evaluate.judge import (
    JUDGEMENT_TOKENS,
    JudgeReply,
    JudgeSampling,
    Opinion,
    judge_request,
    opinions,
)
from biasgrid.tasks.evaluate.verdicts import verdict_file
from biasgrid.warehouse.hashing import content_hash
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
class SecondOpinions:
    """What the judge of one cell is asked, and what it answered."""

    lake: Lake
    run_id: str
    cell_id: str
    evaluation_id: str
    catalog: Catalog
    judge: JudgeSession
    now: datetime

    async def ask(self, doubted: pl.DataFrame) -> dict[str, Opinion]:
        """The judge's opinions by what they are about: doubted verdicts, and controls among them.

        The texts of one file of replies are in memory at a time."""
        given: dict[str, Opinion] = {}
        keys: dict[str, str] = {}
        parts = [*self.lake.scan_each("responses", self.run_id, f"{self.cell_id}-*")]
        parts = parts[1:] or parts  # the first is empty
        own_controls = self.judge.controls.get(self.cell_id, ())
        for place, part in enumerate(parts):
            controls = own_controls[place :: len(parts)]
            block = await asyncio.to_thread(self._questions, join_texts(doubted, part), controls)
            doubted = doubted.filter(~pl.col("verdict_id").is_in([one["about"] for one in block]))
            given |= await self._opinions(block)
            keys |= {one["about"]: one["request_key"] for one in block}
        await asyncio.to_thread(self._land_controls, keys, given)
        return given

    def _questions(self, doubted: pl.DataFrame, controls: Iterable[ControlQuestion]) -> list[Question]:
        """What the judge is asked: about each doubted verdict and each control, shuffled."""
        asked = [*self._own_questions(doubted), *self._control_questions(controls)]
        return shuffle(asked, lambda question: question["about"], self.judge.sampling.seed)

    async def _opinions(self, asked: Sequence[Question]) -> dict[str, Opinion]:
        """The judge's opinions on a block of questions; every reply is stored before it is read."""
        judge = self.judge
        answers = await asyncio.to_thread(self._stored_answers, asked)
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
        read = opinions(answers, self.catalog.languages.values())
        return {one["about"]: read[one["request_key"]] for one in asked if one["request_key"] in read}

    def _land_controls(self, keys: Mapping[str, str], given: Mapping[str, Opinion]) -> None:
        """Stores what the judge made of the controls."""
        sent = [(question, keys[question.case_id]) for question in self.judge.controls.get(self.cell_id, ())]
        unit = {
            "run_id": self.run_id,
            "evaluation_id": self.evaluation_id,
            "cell_id": self.cell_id,
            "judge": self.judge.target.model,
        }
        if sent:
            name = verdict_file(self.evaluation_id, self.cell_id)
            self.lake.write(CONTROLS, self.run_id, name, control_rows(sent, given, unit, self.now))

    def _stored_answers(self, asked: Sequence[Question]) -> dict[str, JudgeReply]:
        """The judge's replies to `asked` in the lake, by request key, those of other runs included."""
        answers = self._read_stored(asked)
        wanted = _open_questions(asked, answers)
        if self.judge.spare is None or not wanted:
            return answers
        self.judge.spare(pl.DataFrame([*wanted.values()]).select("request_key", "case_id", "cell_id"))
        return self._read_stored(asked)

    def _read_stored(self, asked: Iterable[Question]) -> dict[str, JudgeReply]:
        keys = pl.Series([one["request_key"] for one in asked], dtype=pl.String).implode()

        def read() -> pl.DataFrame:
            rows = self.lake.scan("responses", self.run_id, f"judge-{self.cell_id}-*")
            replies = rows.filter(pl.col("text").is_not_null(), pl.col("request_key").is_in(keys))
            return replies.select("request_key", "text", "finish_reason").collect(engine="streaming")

        return {key: JudgeReply(*reply) for key, *reply in read_again_if_compacted(read).iter_rows()}

    def _own_questions(self, doubted: pl.DataFrame) -> Iterator[Question]:
        for row in doubted.iter_rows(named=True):
            messages = judge_request(row["messages"], row["text"], Oracle.model_validate_json(row["oracle"]))
            yield self._question(row["verdict_id"], row["case_id"], messages)

    def _control_questions(self, controls: Iterable[ControlQuestion]) -> Iterator[Question]:
        for one in controls:
            yield self._question(one.case_id, one.case_id, one.request())

    def _question(self, about: str, case_id: str, messages: Sequence[Message]) -> Question:
        judge = self.judge.target
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
            "request_key": content_hash("judge", fingerprint(judge, self.catalog), sent, content),
        }


def _open_questions(asked: Iterable[Question], answers: dict[str, JudgeReply]) -> dict[str, Question]:
    """One question per request key without an answer: equal samples are doubted alike."""
    return {one["request_key"]: one for one in asked if one["request_key"] not in answers}
