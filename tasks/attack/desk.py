"""Where a session's requests go: to what has landed of its run, else to the model, and then to the journal."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import polars as pl

from tasks.attack.session import Party, Session
from tasks.connectors.base import CapReached, Message
from tasks.connectors.budget import RetryBudget
from tasks.connectors.rows import response, to_request
from tasks.connectors.switchboard import Switchboard
from warehouse.identity import content_hash
from warehouse.journal import Journal
from warehouse.lake import Lake

Row = Mapping[str, Any]
Speaker = Literal["target", "attacker", "judge"]
PURPOSES: dict[Speaker, str] = {"target": "subject", "attacker": "attacker", "judge": "judge"}


class Unsent(Exception):
    """The run may not send this, nor anything after it."""


@dataclass(frozen=True, slots=True)
class Line:
    """What one party is to be asked at one place of a session."""

    session: Session
    turn: int
    speaker: Speaker
    messages: tuple[Message, ...]
    attempt: int = 1
    conversation: str | None = None
    """For a target that remembers: which of its conversations it is."""

    def case(self, party: Party) -> dict[str, Any]:
        """As a row of `cases`. Its key holds its place: a session that is replayed finds its own replies, and no
        other's."""
        sent = party.sent(self.attempt)
        told = [{"role": message.role, "content": message.content} for message in self.messages]
        place = (self.session.id, self.turn, self.speaker, self.attempt)
        return {
            "run_id": self.session.run_id,
            "cell_id": self.session.cell_id,
            "case_id": self.session.id,
            "messages": told,
            "parameters": sent,
            "sample": self.attempt,
            "request_key": content_hash("attack", party.fingerprint, sent, told, *place),
            "session": self.conversation,
        }


@dataclass(slots=True)
class Desk:
    """Shared by the sessions of a cell."""

    board: Switchboard
    journal: Journal
    landed: Mapping[str, Row]
    """Replies of this run by request key: they are never asked for again."""
    retries: int
    closed: bool = False
    """Nothing further is sent; what has been sent still lands."""
    budget: RetryBudget = field(default_factory=RetryBudget)

    async def ask(self, party: Party, line: Line) -> Row:
        """The row of `responses` that holds the reply, or the error in its place. Raises Unsent where the run's
        caps are reached."""
        case = line.case(party)
        known = self.landed.get(case["request_key"])
        if known is not None:
            return known
        if self.closed:
            raise asyncio.CancelledError
        answer = await self.board.answer(party.target, to_request(case), self.retries, self.budget)
        if isinstance(answer.error, CapReached):
            raise Unsent(str(answer.error))
        place = {"session": line.session.id, "turn": line.turn, "speaker": line.speaker}
        row = response(case, party.target, answer, purpose=PURPOSES[line.speaker]) | place
        self.journal.append(row)
        return row


def landed(lake: Lake, run_id: str, cell_id: str) -> dict[str, Row]:
    """The first reply to each request of a cell's sessions that has landed in this run."""
    own = lake.scan("responses", run_id, name=f"{cell_id}-*")
    replies = own.filter(pl.col("text").is_not_null(), pl.col("session").is_not_null())
    first = replies.sort("received_at").unique("request_key", keep="first", maintain_order=True)
    return {row["request_key"]: row for row in first.collect().iter_rows(named=True)}
