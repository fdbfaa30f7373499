"""Requests of conversations: replayed from what has landed of their run, else sent and put into the journal."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import polars as pl

from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.api import Answer, CapReached, Message
from biasgrid.tasks.connectors.client.model_pool import ModelPool
from biasgrid.tasks.connectors.client.retry import RetryBudget
from biasgrid.tasks.connectors.model_identity import sent_parameters
from biasgrid.tasks.connectors.rows import response_row, to_request
from biasgrid.warehouse.hashing import content_hash
from biasgrid.warehouse.storage.journal import Journal
from biasgrid.warehouse.storage.lake import Lake

Row = Mapping[str, Any]


class SendingStopped(Exception):
    """The run may not send this, nor anything after it."""


@dataclass(frozen=True, slots=True)
class Participant:
    """A model that takes part, and how it is asked."""

    target: Target
    fingerprint: str
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int = 0

    def sent(self, attempt: int, json_schema: Mapping[str, object] | None = None) -> str:
        """The parameters of an attempt, as JSON; each attempt has its own seed."""
        return sent_parameters(
            self.target,
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            seed=(self.seed + attempt - 1) % 2**31,
            json_schema=json_schema,
        )


@dataclass(frozen=True, slots=True)
class TurnPosition:
    """A position in a run: session, turn and speaker."""

    run_id: str
    cell_id: str
    session: str
    turn: int
    speaker: str


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """The request to one participant at one position of a session."""

    place: TurnPosition
    messages: tuple[Message, ...]
    purpose: str = "subject"
    """As `responses` has it."""
    attempt: int = 1
    conversation: str | None = None
    """For a target that remembers: which of its conversations it is."""
    json_schema: Mapping[str, object] | None = None
    """A schema for the reply, for models that take one."""

    def case(self, party: Participant, kind: str) -> dict[str, Any]:
        """A row of `cases`; its key holds the position, so that a replayed session finds its own replies."""
        own, sent = self.place, party.sent(self.attempt, self.json_schema)
        told = [{"role": message.role, "content": message.content} for message in self.messages]
        where = (own.session, own.turn, own.speaker, self.attempt)
        return {
            "run_id": own.run_id,
            "cell_id": own.cell_id,
            "case_id": own.session,
            "messages": told,
            "parameters": sent,
            "sample": self.attempt,
            "request_key": content_hash(kind, party.fingerprint, sent, told, *where),
            "session": self.conversation,
        }


@dataclass(slots=True)
class ReplayingClient:
    """Shared by the sessions of a cell."""

    kind: str
    """The kind of run, which is part of its request keys: `attack`, `interaction`."""
    model_pool: ModelPool
    journal: Journal
    landed: Mapping[str, Row]
    """Replies of this run by request key: they are never asked for again."""
    retries: int
    closed: bool = False
    """Nothing further is sent; what has been sent still lands."""
    budget: RetryBudget = field(default_factory=RetryBudget)
    asking: set[asyncio.Task[Any]] = field(default_factory=set)
    """The tasks that wait for a reply, in flight or not: a session may have several, agents that speak at once."""

    async def ask(self, party: Participant, line: TurnRequest) -> Row:
        """The row of `responses` with the reply or its error. Raises SendingStopped where a cap of the run is
        reached."""
        case = line.case(party, self.kind)
        known = self.landed.get(case["request_key"])
        if known is not None:
            return known
        if self.closed:
            raise asyncio.CancelledError
        answer = await self._answer(party, case)
        if isinstance(answer.error, CapReached):
            raise SendingStopped(str(answer.error))
        own = {"session": line.place.session, "turn": line.place.turn, "speaker": line.place.speaker}
        row = response_row(case, party.target, answer, purpose=line.purpose) | own
        self.journal.append(row)
        return row

    async def _answer(self, party: Participant, case: dict[str, Any]) -> Answer:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine runs in one
        self.asking.add(task)
        try:
            return await self.model_pool.answer(party.target, to_request(case), self.retries, self.budget)
        finally:
            self.asking.discard(task)

    def waiting(self) -> set[asyncio.Task[Any]]:
        """The tasks that have sent nothing yet, or wait to send again."""
        return {task for task in self.asking if task not in self.model_pool.in_flight}


async def open_replaying_client(
    kind: str, lake: Lake, run_id: str, cell_id: str, model_pool: ModelPool, retries: int
) -> ReplayingClient:
    """The client of one cell, with the replies that have landed."""
    before = await asyncio.to_thread(landed, lake, run_id, cell_id)
    return ReplayingClient(kind, model_pool, Journal(lake, run_id, cell_id), before, retries)


def landed(lake: Lake, run_id: str, cell_id: str) -> dict[str, Row]:
    """The first reply to each request of a cell's sessions that has landed in this run."""
    own = lake.scan("responses", run_id, name=f"{cell_id}-*")
    replies = own.filter(pl.col("text").is_not_null(), pl.col("session").is_not_null())
    first = replies.sort("received_at").unique("request_key", keep="first", maintain_order=True)
    return {row["request_key"]: row for row in first.collect().iter_rows(named=True)}


Ended = TypeVar("Ended")
PATIENCE_S = 10.0
"""How long what has been sent may take to arrive once the run is broken off."""


async def run_conversations(
    conversations: Iterable[Coroutine[Any, Any, Ended]], desk: ReplayingClient
) -> list[Ended]:
    """The result of each, in order; then the journal lands. On an error or cancellation nothing new is sent."""
    tasks = [asyncio.create_task(conversation) for conversation in conversations]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        if any(task.cancelled() or task.exception() for task in done):
            await _wind_up(tasks, desk)
        for task in done:
            task.result()  # raises what it met
        return [task.result() for task in tasks]
    except asyncio.CancelledError:
        await _wind_up(tasks, desk)
        raise
    finally:
        await _dismiss(tasks, desk)
        await asyncio.shield(asyncio.to_thread(desk.journal.land))


async def _wind_up(tasks: Sequence[asyncio.Task[Ended]], desk: ReplayingClient) -> None:
    """Lets what has been sent arrive, and gives up what only waits to be sent."""
    desk.closed = True
    for task in desk.waiting():
        task.cancel()
    under_way = {*desk.asking, *tasks}  # what agents of a broken session have in flight outlives it
    await asyncio.wait(under_way, timeout=PATIENCE_S)


async def _dismiss(tasks: Sequence[asyncio.Task[Ended]], desk: ReplayingClient) -> None:
    left = {*desk.asking, *tasks}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
