"""Asks a model for templates: every reply is stored before it is read, and stored replies are reused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import polars as pl

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.models import Target, patient
from biasgrid.tasks.augment.order import Order, Part
from biasgrid.tasks.augment.prompts import request_text
from biasgrid.tasks.connectors.api import Answer
from biasgrid.tasks.connectors.client.model_pool import ModelPool
from biasgrid.tasks.connectors.rows import Case, fingerprint, response_row, sent_parameters, to_request
from biasgrid.tasks.connectors.workers import answer_all
from biasgrid.warehouse.hashing import content_hash
from biasgrid.warehouse.storage.journal import Journal, recover
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.run_lock import RunLock

CELL = "generator"
"""Name of these replies' files, by which they are found among those of all runs."""
TOKENS_FOR_ONE, TOKENS_BESIDE = 400, 800


class Numbered(Protocol):
    """A part of an order, counted from 1, and the number of entries it requests."""

    @property
    def number(self) -> int: ...

    @property
    def count(self) -> int: ...


PartOf = TypeVar("PartOf", bound=Numbered, covariant=True)


@dataclass(frozen=True, slots=True)
class Asked(Generic[PartOf]):
    """A part of an order with the request for it, as a row of `cases` has it."""

    part: PartOf
    case: Case

    @property
    def text(self) -> str:
        return str(self.case["messages"][0]["content"])

    @property
    def key(self) -> str:
        return str(self.case["request_key"])


@dataclass(frozen=True, slots=True)
class Heard:
    """Results of the requests: rows of `responses` by request key, and which were paid earlier."""

    answered: Mapping[str, dict[str, Any]]
    failed: Mapping[str, dict[str, Any]]
    kept: frozenset[str]


def requests(order: Order, target: Target, catalog: Catalog, temperature: float | None) -> tuple[Asked[Part], ...]:
    """The requests of an order for templates, one per part."""
    told = [(part, request_text(order, part)) for part in order.parts]
    return requests_of(told, order.seed, target, catalog, temperature)


def requests_of(
    told: Sequence[tuple[PartOf, str]], seed: int, target: Target, catalog: Catalog, temperature: float | None
) -> tuple[Asked[PartOf], ...]:
    """The requests for parts with these texts; the same order on the same library has the same keys."""
    asked = [(part, _case(part, text, seed, target, catalog, temperature)) for part, text in told]
    session = f"augment-{content_hash([case['request_key'] for _, case in asked])}"
    return tuple(Asked(part, {**case, "run_id": session}) for part, case in asked)


async def ask(
    lake: Lake, asked: Sequence[Asked[Any]], target: Target, model_pool: ModelPool, *, retries: int = 3
) -> Heard:
    """The replies to the requests, stored ones included, with errors as rows; on cancellation, requests in
    flight are still stored. Raises RunBusy if another process runs the same requests."""
    session = asked[0].case["run_id"]
    with RunLock(lake, session):
        recover(lake, session)
        before = _landed(lake, [each.key for each in asked])
        rows: dict[str, dict[str, Any]] = {}
        journal = Journal(lake, session, CELL)
        try:
            missing = [each.case for each in asked if each.key not in before]
            await answer_all(
                model_pool, patient(target), missing, to_request, _landing(journal, rows, target), retries=retries
            )
        finally:
            journal.land()
    failed = {key: row for key, row in rows.items() if row["text"] is None}
    answered = before | {key: row for key, row in rows.items() if row["text"] is not None}
    return Heard(answered, failed, frozenset(before))


def _landing(journal: Journal, rows: dict[str, dict[str, Any]], target: Target) -> Callable[[Case, Answer], None]:
    def land(case: Case, answer: Answer) -> None:
        row = response_row(case, target, answer, purpose="generator") | {"session": case["run_id"]}
        journal.append(row)
        rows[case["request_key"]] = row

    return land


def _landed(lake: Lake, keys: list[str]) -> dict[str, dict[str, Any]]:
    """The newest reply to each request in any session."""
    found = lake.scan("responses", name=f"{CELL}-*").filter(
        pl.col("request_key").is_in(keys), pl.col("purpose") == "generator", pl.col("text").is_not_null()
    )
    return {row["request_key"]: row for row in found.sort("received_at").collect().iter_rows(named=True)}


def _case(
    part: Numbered, text: str, first_seed: int, target: Target, catalog: Catalog, temperature: float | None
) -> Case:
    seed = first_seed + part.number - 1
    most = TOKENS_BESIDE + TOKENS_FOR_ONE * part.count
    sent = sent_parameters(target, temperature=temperature, max_tokens=most, seed=seed)
    told = [{"role": "user", "content": text}]
    # the seed is part of the key: another one asks anew, also where a model takes none
    key = content_hash("generator", fingerprint(target, catalog), sent, told, seed)
    return {
        "cell_id": CELL,
        "case_id": key,
        "messages": told,
        "parameters": sent,
        "sample": 1,
        "request_key": key,
    }
