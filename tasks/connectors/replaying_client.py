"""Conversation requests: replayed if already stored for their run, else sent and written to the journal."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import polars as pl

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.models import Target
from biasgrid.catalogs.schema.requirements import ScenarioSettings
from biasgrid.tasks.connectors.api import Answer, CapReached, Message
from biasgrid.tasks.connectors.client.model_pool import ModelPool
from biasgrid.tasks.connectors.client.retry import RetryBudget
from biasgrid.tasks.connectors.rereading import CAME, reread
from biasgrid.tasks.connectors.rows import fingerprint, response_row, sent_parameters, to_request
from biasgrid.warehouse.hashing import content_hash
from biasgrid.warehouse.storage.journal import Journal
from biasgrid.warehouse.storage.lake import Lake

Row = Mapping[str, Any]


class SendingStopped(Exception):
    """The run may send neither this request nor any later one."""


@dataclass(frozen=True, slots=True)
class Participant:
    """A model in a conversation, with its settings."""

    target: Target
    fingerprint: str
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int = 0

    @classmethod
    def of(cls, target: Target, settings: ScenarioSettings, catalog: Catalog) -> Participant:
        """A model with the settings of a run."""
        return cls(target, fingerprint(target, catalog), settings.temperature, settings.max_tokens, settings.seed)

    def parameters(self, attempt: int, json_schema: Mapping[str, object] | None = None) -> str:
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
    """As in `responses`."""
    attempt: int = 1
    conversation: str | None = None
    """Conversation of a target with memory."""
    json_schema: Mapping[str, object] | None = None
    """A schema for the reply, for models that accept one."""

    def case(self, party: Participant, kind: str) -> dict[str, Any]:
        """A row of `cases`; its key includes the position, so that a replayed session finds its own replies."""
        own, sent = self.place, party.parameters(self.attempt, self.json_schema)
        messages = [{"role": message.role, "content": message.content} for message in self.messages]
        where = (own.session, own.turn, own.speaker, self.attempt)
        return {
            "run_id": own.run_id,
            "cell_id": own.cell_id,
            "case_id": own.session,
            "messages": messages,
            "parameters": sent,
            "sample": self.attempt,
            "request_key": content_hash(kind, party.fingerprint, sent, messages, *where),
            "session": self.conversation,
        }


@dataclass(slots=True)
class ReplayingClient:
    """Client shared by the sessions of a cell."""

    kind: str
    """The kind of run, which is part of its request keys: `attack`, `interaction`."""
    model_pool: ModelPool
    journal: Journal
    landed: Mapping[str, Row]
    """Stored replies of this run by request key, which are not requested again."""
    retries: int
    closed: bool = False
    """Whether sending has ended; replies in flight are still stored."""
    budget: RetryBudget = field(default_factory=RetryBudget)
    asking: set[asyncio.Task[Any]] = field(default_factory=set)
    """Tasks that wait for a reply, in flight or not; concurrent agents of a session have one each."""

    async def ask(self, party: Participant, line: TurnRequest) -> Row:
        """The row of `responses` with the reply or its error. Raises SendingStopped at a cap of the run."""
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

    def find_waiting(self) -> set[asyncio.Task[Any]]:
        """Tasks that have sent nothing yet, or wait to send again."""
        return {task for task in self.asking if task not in self.model_pool.in_flight}


def load_replies(lake: Lake, run_id: str, cell_id: str) -> dict[str, Row]:
    """The first stored reply in this run to each request of a cell's sessions, understood or not."""
    own = lake.scan("responses", run_id, name=f"{cell_id}-*")
    replies = own.filter(CAME, pl.col("session").is_not_null()).sort(pl.col("text").is_null(), "received_at")
    first = replies.unique("request_key", keep="first", maintain_order=True)
    return {row["request_key"]: row for row in first.collect().iter_rows(named=True)}


Ended = TypeVar("Ended")
PATIENCE_S = 10.0
"""Seconds for requests in flight to complete after a run is interrupted."""


class PlannedConversation(Protocol):
    @property
    def run_id(self) -> str: ...

    @property
    def cell_id(self) -> str: ...


Planned = TypeVar("Planned", bound=PlannedConversation)


@dataclass(frozen=True, kw_only=True)
class ConversationCell(Generic[Planned, Ended]):
    """The conversations of a cell, and how they are run."""

    planned: Sequence[Planned]
    retries: int
    slots: asyncio.Semaphore | None = None
    """Limits concurrent conversations, those of other cells included."""
    watch: Callable[[Ended], None] = lambda _: None
    """Receives each result."""


async def run_cell(
    kind: str,
    lake: Lake,
    cell: ConversationCell[Planned, Ended],
    model_pool: ModelPool,
    converse: Callable[[Planned, ReplayingClient], Coroutine[Any, Any, Ended]],
) -> list[Ended]:
    """Results in input order. Each reply lands on arrival, and landed conversations are resumed first; after
    cancellation nothing new is sent, and requests in flight still land."""
    first = cell.planned[0]
    await asyncio.to_thread(reread, lake, first.run_id, [first.cell_id], model_pool.catalog.target)
    before = await asyncio.to_thread(load_replies, lake, first.run_id, first.cell_id)
    journal = Journal(lake, first.run_id, first.cell_id)
    client = ReplayingClient(kind, model_pool, journal, before, cell.retries)

    async def run(one: Planned) -> Ended:
        async with cell.slots or nullcontext():
            result = await converse(one, client)
        cell.watch(result)
        return result

    return await run_conversations((run(one) for one in cell.planned), client)


async def run_conversations(
    conversations: Iterable[Coroutine[Any, Any, Ended]], desk: ReplayingClient
) -> list[Ended]:
    """All results in order, with the journal stored; on an error or cancellation nothing new is sent."""
    tasks = [asyncio.create_task(conversation) for conversation in conversations]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        if any(task.cancelled() or task.exception() for task in done):
            await _wind_up(tasks, desk)
        for task in done:
            task.result()  # raises the task's error
        return [task.result() for task in tasks]
    except asyncio.CancelledError:
        await _wind_up(tasks, desk)
        raise
    finally:
        await _dismiss(tasks, desk)
        await asyncio.shield(asyncio.to_thread(desk.journal.land))


async def _wind_up(tasks: Sequence[asyncio.Task[Ended]], desk: ReplayingClient) -> None:
    """Waits for requests in flight and cancels tasks that have sent nothing."""
    desk.closed = True
    for task in desk.find_waiting():
        task.cancel()
    under_way = {*desk.asking, *tasks}  # requests of concurrent agents outlive their broken session
    await asyncio.wait(under_way, timeout=PATIENCE_S)


async def _dismiss(tasks: Sequence[asyncio.Task[Ended]], desk: ReplayingClient) -> None:
    left = {*desk.asking, *tasks}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
