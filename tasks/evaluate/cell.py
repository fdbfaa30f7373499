"""Computes a cell's verdicts: by oracles, by an optional judge, and by people's decisions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import polars as pl

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.models import Target
from biasgrid.catalogs.schema.oracle import Oracle
from biasgrid.tasks.connectors.api import Answer
from biasgrid.tasks.connectors.client.model_pool import ModelPool
from biasgrid.tasks.connectors.client.retry import RetryBudget
from biasgrid.tasks.connectors.rows import fingerprint, response_row, sent_parameters, to_request
from biasgrid.tasks.connectors.workers import Workers
from biasgrid.tasks.evaluate.current_oracles import changed, under
from biasgrid.tasks.evaluate.decisions import carried, decided, units
from biasgrid.tasks.evaluate.evaluate import judge_cell
from biasgrid.tasks.evaluate.judge import (
    JUDGEMENT_TOKENS,
    Hearing,
    Judgement,
    Opinion,
    Said,
    assessments,
    contested,
    judge_request,
    opinions,
    overrule,
)
from biasgrid.warehouse.hashing import content_hash
from biasgrid.warehouse.storage.assessments import TABLE, assessments_of_people, empty_assessments
from biasgrid.warehouse.storage.journal import Journal
from biasgrid.warehouse.storage.lake import Lake

Spare = Callable[[pl.DataFrame], None]
"""Stores a judge's replies of other runs that answer these requests (request_key, case_id, cell_id)."""


async def evaluate_cell(
    lake: Lake,
    run_id: str,
    cell_id: str,
    evaluation_id: str,
    catalog: Catalog,
    model_pool: ModelPool | None = None,
    judge: Target | None = None,
    retries: int = 3,
    spare: Spare | None = None,
    rules: pl.DataFrame | None = None,
    hearing: Hearing | None = None,
) -> int:
    """Stores the verdicts on a cell's replies under `evaluation_id` and returns their number; a repeated call
    overwrites them and reuses the judge's replies.

    `rules` replace the oracles that the cases were planned with; `hearing` selects the replies that the judge
    receives; people's decisions on the same replies and rules still count.
    """
    now = datetime.now(UTC)
    hearing = hearing or Hearing()
    name = f"{evaluation_id}-{cell_id}"

    def judged() -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
        planned = lake.read("cases", run_id, cell_id)
        cases = planned if rules is None else under(planned, rules)
        if rules is not None:
            _land_rules(lake, name, run_id, evaluation_id, cell_id, changed(planned, rules))
        replies = lake.read("responses", run_id, f"{cell_id}-*")
        return cases, replies, judge_cell(cases, replies, catalog.languages, evaluation_id, now)

    cases, replies, verdicts = await asyncio.to_thread(judged)
    opined = empty_assessments()
    if judge is not None and model_pool is not None:
        doubted = contested(cases, replies, verdicts, hearing)
        said = await _second_opinions(lake, run_id, cell_id, doubted, catalog, model_pool, judge, retries, spare)
        given = opinions(said, catalog.languages.values())
        opined = assessments(doubted, verdicts, given, judge.model, now)
        if hearing.overrules:
            verdicts = pl.concat([verdicts, overrule(verdicts, _on_failed(doubted, given), judge.model, now)])

    def land() -> int:
        people = assessments_of_people(lake, run_id, cell_id)
        beside, final = opined, verdicts
        if people.height:
            taken_over = carried(people, units(cases, verdicts), evaluation_id)
            own = people.filter((pl.col("evaluation_id") == evaluation_id) & pl.col("carried_from").is_null())
            beside, final = pl.concat([opined, taken_over]), decided(verdicts, pl.concat([own, taken_over]))
        if beside.height:
            lake.write(TABLE, run_id, name, beside)
        lake.write("verdicts", run_id, name, final)
        return final.height

    return await asyncio.to_thread(land)


def decide_again(lake: Lake, run_id: str, cell_id: str, evaluation_id: str) -> None:
    """Stores a cell's verdicts again with people's later decisions, without any request to a judge."""
    name = f"{evaluation_id}-{cell_id}"
    people = assessments_of_people(lake, run_id, cell_id).filter(pl.col("evaluation_id") == evaluation_id)
    lake.write("verdicts", run_id, name, decided(lake.read("verdicts", run_id, name), people))


def _on_failed(doubted: pl.DataFrame, given: Mapping[str, Opinion]) -> dict[str, Judgement]:
    failed = set(doubted.filter(pl.col("outcome") == "failed")["verdict_id"])
    return {verdict_id: one.judgement for verdict_id, one in given.items() if verdict_id in failed}


def _land_rules(lake: Lake, name: str, run_id: str, evaluation_id: str, cell_id: str, other: pl.DataFrame) -> None:
    if other.height:
        keys = {"run_id": run_id, "evaluation_id": evaluation_id, "cell_id": cell_id}
        lake.write("rules", run_id, name, other.with_columns(**{key: pl.lit(id_) for key, id_ in keys.items()}))


async def _second_opinions(
    lake: Lake,
    run_id: str,
    cell_id: str,
    doubted: pl.DataFrame,
    catalog: Catalog,
    model_pool: ModelPool,
    judge: Target,
    retries: int,
    spare: Spare | None,
) -> dict[str, Said]:
    """The judge's reply to each doubted verdict, by verdict_id; every reply is stored before it is read."""
    name = f"judge-{cell_id}"
    asked = [_question(row, run_id, name, judge, catalog) for row in doubted.iter_rows(named=True)]
    answers = await asyncio.to_thread(_heard, lake, run_id, name, asked, spare)
    journal = Journal(lake, run_id, name)

    def land(case: dict[str, Any], answer: Answer) -> None:
        journal.append(response_row(case, judge, answer, purpose="judge"))
        if answer.reply is not None:
            answers[case["request_key"]] = Said(answer.reply.text, answer.reply.finish_reason)

    try:
        # samples that say the same are doubted alike: one question, one answer
        open_questions = {case["request_key"]: case for case in asked if case["request_key"] not in answers}
        workers = Workers(model_pool, judge, to_request, land, retries, share=land, budget=RetryBudget())
        await workers.answer_all(open_questions.values())
    finally:
        await asyncio.shield(asyncio.to_thread(journal.land))
    return {case["verdict_id"]: answers[case["request_key"]] for case in asked if case["request_key"] in answers}


def _heard(
    lake: Lake, run_id: str, name: str, asked: list[dict[str, Any]], spare: Spare | None
) -> dict[str, Said]:
    """The judge's replies stored in the lake, by request key."""
    answers = _landed(lake, run_id, name)
    wanted = {case["request_key"]: case for case in asked if case["request_key"] not in answers}
    if spare is None or not wanted:
        return answers
    spare(pl.DataFrame([*wanted.values()]).select("request_key", "case_id", "cell_id"))
    return _landed(lake, run_id, name)


def _landed(lake: Lake, run_id: str, name: str) -> dict[str, Said]:
    landed = lake.read("responses", run_id, f"{name}-*").filter(pl.col("text").is_not_null())
    return {key: Said(*reply) for key, *reply in landed.select("request_key", "text", "finish_reason").iter_rows()}


def _question(row: dict[str, Any], run_id: str, name: str, judge: Target, catalog: Catalog) -> dict[str, Any]:
    messages = judge_request(row["messages"], row["text"], Oracle.model_validate_json(row["oracle"]))
    told = [{"role": message.role, "content": message.content} for message in messages]
    sent = sent_parameters(judge, temperature=0.0, max_tokens=JUDGEMENT_TOKENS, seed=0)
    return {
        "run_id": run_id,
        "cell_id": name.removeprefix("judge-"),
        "case_id": row["case_id"],
        "verdict_id": row["verdict_id"],
        "messages": told,
        "parameters": sent,
        "sample": 1,
        "request_key": content_hash("judge", fingerprint(judge, catalog), sent, told),
    }
