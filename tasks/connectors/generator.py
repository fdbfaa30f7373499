"""Orders to a generator, a request per part: each reply lands before it is read and is not requested again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import polars as pl
from pydantic import BaseModel, ValidationError

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.loading.pydantic_errors import explain, follows
from biasgrid.catalogs.schema.models import Target
from biasgrid.catalogs.text_safety import excerpt, storable
from biasgrid.tasks.connectors.api import Answer
from biasgrid.tasks.connectors.client.model_pool import ModelPool
from biasgrid.tasks.connectors.json_objects import RejectedText
from biasgrid.tasks.connectors.rows import Case, fingerprint, response_row, sent_parameters, to_request
from biasgrid.tasks.connectors.workers import Workers
from biasgrid.warehouse.hashing import content_hash
from biasgrid.warehouse.storage.journal import Journal
from biasgrid.warehouse.storage.lake import Lake

CELL = "generator"
"""Prefix of the names of files with these replies."""
Row = dict[str, Any]


class Numbered(Protocol):
    """A part of an order, counted from 1, and the number of entries that it requests."""

    @property
    def number(self) -> int: ...

    @property
    def count(self) -> int: ...


PartOf = TypeVar("PartOf", bound=Numbered)
Shape = TypeVar("Shape", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class PartRequest(Generic[PartOf]):
    """A part of an order with its request as a row of `cases`."""

    part: PartOf
    case: Case

    @property
    def key(self) -> str:
        return str(self.case["request_key"])

    @property
    def text(self) -> str:
        return str(self.case["messages"][0]["content"])


@dataclass(frozen=True, slots=True)
class Generator:
    """A model that writes entries, with the settings that its requests share."""

    kind: str
    """The kind of order, which is part of its request keys."""
    target: Target
    catalog: Catalog
    seed: int
    tokens: tuple[int, int]
    """Tokens of a reply without entries, and of each entry."""
    temperature: float | None = None

    def request(self, part: PartOf, text: str, run_id: str = "", cell_id: str = CELL) -> PartRequest[PartOf]:
        """The request for a part; the same order on the same catalog has the same key."""
        seed = (self.seed + part.number - 1) % 2**31
        most = self.tokens[0] + self.tokens[1] * part.count
        sent = sent_parameters(self.target, temperature=self.temperature, max_tokens=most, seed=seed)
        messages = [{"role": "user", "content": text}]
        # the key contains the seed: another seed sends a new request, even if the model ignores seeds
        key = content_hash(self.kind, fingerprint(self.target, self.catalog), sent, messages, seed)
        case = {
            "run_id": run_id,
            "cell_id": cell_id,
            "case_id": key,
            "messages": messages,
            "parameters": sent,
            "sample": 1,
            "request_key": key,
        }
        return PartRequest(part, case)


@dataclass(frozen=True, slots=True)
class Sender:
    """A way to send requests to one model."""

    target: Target
    model_pool: ModelPool
    retries: int = 3


def split_evenly(count: int, most: int) -> list[int]:
    """The sizes of the fewest parts with at most `most` each."""
    parts = max(1, -(-count // most))
    return [count // parts + (index < count % parts) for index in range(parts)]


def stored_replies(lake: Lake, requests: Sequence[PartRequest[Any]], run_id: str | None = None) -> pl.LazyFrame:
    """The replies to these requests in a run or, by default, in any."""
    return lake.scan("responses", run_id, name=f"{CELL}-*").filter(
        pl.col("request_key").is_in([each.key for each in requests]),
        pl.col("purpose") == "generator",
        pl.col("text").is_not_null(),
    )


def last_by_key(rows: pl.LazyFrame) -> dict[str, Row]:
    """The last row of each request key."""
    return {row["request_key"]: row for row in rows.collect().iter_rows(named=True)}


async def land_replies(
    lake: Lake,
    requests: Sequence[PartRequest[Any]],
    sender: Sender,
    known: Mapping[str, Row],
    reused: Sequence[Row] = (),
    session: str | None = None,
) -> dict[str, Row]:
    """Lands `reused` rows and the replies to requests without one; returns all rows by request key, errors
    included. On cancellation, requests in flight still land."""
    own = {"session": session} if session else {}
    first = requests[0].case
    journal = Journal(lake, first["run_id"], first["cell_id"])
    rows = dict(known)

    def land(row: Row) -> None:
        journal.append(row)
        rows[row["request_key"]] = row

    def land_answer(case: Case, answer: Answer) -> None:
        land(response_row(case, sender.target, answer, purpose="generator") | own)

    try:
        for row in reused:
            land(row)
        missing = [each.case for each in requests if each.key not in rows]
        workers = Workers(sender.model_pool, sender.target, to_request, land_answer, sender.retries)
        await workers.answer_all(missing)
    finally:
        journal.land()
    return rows


def parse_entry(raw: str, kind: type[Shape]) -> Shape | RejectedText:
    """A JSON object of a reply, read strictly, or all errors of its shape."""
    if storable(raw) != raw:
        return RejectedText(storable(raw), "holds half of a character")
    try:
        return kind.model_validate_json(raw)
    except ValidationError as error:
        return RejectedText(raw, "; ".join(explain_all(error)))


def explain_all(error: ValidationError) -> Iterator[str]:
    """Each error of an entry in words, without those that follow from another."""
    problems = error.errors()
    for problem in problems:
        if not follows(problem, [other["loc"] for other in problems]):
            name = ".".join(str(place) for place in problem["loc"] if place not in ("name", "mapping"))
            yield excerpt(explain(problem, f"`{name}`" if name else "the object"))
