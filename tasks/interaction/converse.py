"""Plays one scene from its first round to its last.

Each agent has its own session, discarded after the play. A resumed play is replayed: landed replies are reused."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from biasgrid.catalogs.schema.scenes import Question
from biasgrid.catalogs.text_safety import storable
from biasgrid.tasks.connectors.replaying_client import ReplayingClient, SendingStopped, TurnRequest
from biasgrid.tasks.interaction.play import Play, Turn
from biasgrid.tasks.interaction.prompts import Memory, Statement, new_statements, question_text


def _object(title: str, **properties: Any) -> dict[str, Any]:
    """A strict schema: every property is required, no other is allowed."""
    return {
        "title": title,
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_TEXT: Final = {"type": "string"}
_TASK: Final = _object("task", task={"type": "integer"}, person=_TEXT, reason=_TEXT)
SCHEMAS: Final[Mapping[Question, Mapping[str, object]]] = {
    "assignment": _object("assignment", remarks=_TEXT, assignments={"type": "array", "items": _TASK}),
    "choice": _object("choice", remarks=_TEXT, person=_TEXT, reason=_TEXT),
}
"""`remarks` come first, so that a model can think before it assigns."""


Outcome = Literal["played", "error", "incomplete"]
"""error: an agent gave no reply, so the rest is unknown; incomplete: the run may not send any more requests."""


@dataclass(frozen=True, slots=True)
class Played:
    play: Play
    outcome: Outcome
    reason: str = ""


class _NoReply(Exception):
    """An agent gave no reply."""


async def interact(play: Play, desk: ReplayingClient) -> Played:
    """Plays one scene to its end; raises only errors that stop the whole run."""
    conversation = _Conversation(play, desk)
    try:
        for number, turn in enumerate(play.turns, 1):
            await conversation.round(number, turn)
    except _NoReply as error:
        return Played(play, "error", str(error))
    except SendingStopped as why:
        return Played(play, "incomplete", str(why))
    return Played(play, "played")


class _Conversation:
    def __init__(self, play: Play, desk: ReplayingClient) -> None:
        self._play, self._desk = play, desk
        self._statements: list[Statement] = []
        self._agents = [Memory(person) for person in play.speakers]

    async def round(self, number: int, turn: Turn) -> None:
        """Collects all agents' replies: in sequence if they see earlier ones of the round, else concurrently."""
        if turn.reads == "everybody":
            for agent in self._agents:
                self._statements += [await self._ask(agent, number, turn)]
            return
        self._statements += await _all(self._ask(agent, number, turn) for agent in self._agents)

    async def _ask(self, agent: Memory, number: int, turn: Turn) -> Statement:
        question = question_text(self._play, agent.person, turn, new_statements(agent, turn, self._statements))
        purpose = "reflection" if turn.kind == "reflection" else "subject"
        messages = agent.messages(self._play, number, question)
        line = TurnRequest(
            self._play.place(number, agent.person), messages, purpose, json_schema=self._schema(turn)
        )
        row = await self._desk.ask(agent.person.party, line)
        if row["text"] is None:
            raise _NoReply(f"{agent.person.name} gave no reply: {row['error_message']}")
        answer = storable(row["text"])  # normalised on receipt, so that a replay sends the same text
        agent.exchanges.append((number, question, answer))
        return Statement(number, agent.person.name, answer)

    def _schema(self, turn: Turn) -> Mapping[str, object] | None:
        """The reply schema of a round; None for free discussion."""
        assigns = turn.kind != "discussion" and self._play.judged is None
        return SCHEMAS[self._play.question] if assigns else None


async def _all(speaking: Iterable[Coroutine[Any, Any, Statement]]) -> list[Statement]:
    """Results of all coroutines; raises the first exception after all have ended."""
    found = await asyncio.gather(*speaking, return_exceptions=True)
    statements = [one for one in found if isinstance(one, Statement)]
    for one in found:
        if isinstance(one, BaseException):
            raise one
    return statements
