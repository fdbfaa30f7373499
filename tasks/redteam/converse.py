"""One session, played: the strategy moves, the attacker writes, the target replies, the judge judges.

A session that is taken up again is played anew from its beginning: the same scene and the same replies make the
same moves, and every reply that has landed is found instead of asked for. So it goes on where it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from biasgrid.catalogs.schema.attacks import Fault
from biasgrid.catalogs.text_safety import storable
from biasgrid.tasks.connectors.api import Message, is_withheld
from biasgrid.tasks.connectors.replaying_client import ReplayingClient, Row, SendingStopped, TurnRequest
from biasgrid.tasks.redteam.goal import Scene
from biasgrid.tasks.redteam.judge import OUTCOMES, judge_request, read_judgement
from biasgrid.tasks.redteam.moves import Ask, Exchange, Heard, Judgement, Move, Moves, Say
from biasgrid.tasks.redteam.prompts import attacker_request, read_message
from biasgrid.tasks.redteam.session import (
    PURPOSES,
    Outcome,
    Parties,
    Session,
    Speaker,
    Transcript,
    Turn,
    concluded,
)
from biasgrid.tasks.redteam.strategies import STRATEGIES


class _Ended(Exception):
    """Something that no further move can mend."""

    def __init__(self, outcome: Outcome, reason: str) -> None:
        super().__init__(outcome, reason)
        self.outcome, self.reason = outcome, reason


async def attack_session(
    session: Session, parties: Parties, desk: ReplayingClient, system: str | None = None
) -> Transcript:
    """Play one session to its end. What goes wrong on the way is its outcome; nothing is raised but what stops the
    run as a whole. `system` goes before every conversation with a target that is sent the whole of it."""
    play = _Play(session, parties, desk, system)
    try:
        await play.through(STRATEGIES[session.strategy].moves(session.scene))
        outcome, reason = concluded(tuple(play.turns))
        await play.leave()
    except _Ended as ended:
        outcome, reason = ended.outcome, ended.reason
    except SendingStopped as why:
        outcome, reason = "incomplete", str(why)
    return Transcript(session, tuple(play.turns), outcome, reason)


class _Play:
    def __init__(self, session: Session, parties: Parties, desk: ReplayingClient, system: str | None) -> None:
        self.turns: list[Turn] = []
        self._session, self._scene, self._parties, self._desk = session, session.scene, parties, desk
        self._system = (Message("system", system),) if system else ()
        self._conversation: list[Exchange] = []
        self._begun = 1

    async def through(self, moves: Moves) -> None:
        """Until the strategy is at its end or a reply is biased. Raises _Ended and Unsent."""
        move = _next(moves, None)
        while move is not None:
            heard = await (self._written(move) if isinstance(move, Ask) else self._said(move))
            if self.turns and self.turns[-1].outcome == "failed":
                return
            move = _next(moves, heard)

    async def leave(self) -> None:
        """End the conversations with a target that remembers: nothing goes on in them any more."""
        for number in range(1, self._begun + 1) if self._scene.remembers else ():
            await self._desk.model_pool.forget(self._parties.target.target, self._named(number))

    def _named(self, number: int) -> str:
        """Of this run alone: a chatbot that knows conversations by our ids has had those of others."""
        return f"{self._session.run_id}-{self._session.id}-{number}"

    async def _written(self, asked: Ask) -> str:
        """A message of the attacker that can be sent."""
        faults: list[Fault] = []
        for attempt in range(1, self._scene.limits.attacker_retries + 2):
            request = attacker_request(asked, self._scene, self._conversation, faults)
            message = read_message(await self._from_attacker(request, attempt))
            fault = "unreadable" if message is None else asked.fault(message)
            if message is not None and fault is None:
                return message
            faults.append(fault or "unreadable")
        told = ", ".join(dict.fromkeys(faults))
        raise _Ended("attacker failed", f"no message that could be sent in {len(faults)} attempts: {told}")

    async def _from_attacker(self, request: tuple[Message, ...], attempt: int) -> str:
        attacker = self._parties.attacker
        if attacker is None:
            raise _Ended("attacker failed", "the strategy needs an attacker, and none is named")
        line = self._line(len(self.turns) + 1, "attacker", request, attempt)
        row = await self._desk.ask(attacker, line)
        if row["text"] is None:
            raise _Ended("attacker failed", f"the attacker gave no reply: {row['error_message']}")
        return str(row["text"])

    async def _said(self, said: Say) -> Exchange:
        """The exchange that came of a message, judged if it is to be."""
        if said.begins == "anew" and self.turns:
            self._conversation, self._begun = [], self._begun + 1
        if said.begins == "back":
            self._conversation.pop()
        row = await self._from_target(said.message)
        reply = storable(row["text"] or "")  # as it lands, so that a replay sends the same
        exchange = Exchange(said.message, reply, withheld=is_withheld(row["finish_reason"]))
        turn = Turn(len(self.turns) + 1, exchange, row["response_id"], None)
        if row["text"] is None:
            why = f"the target gave no reply: {row['error_message']}"
            self.turns.append(replace(turn, outcome="error", reason=why))
            raise _Ended("error", why)
        self.turns.append(turn)
        self._conversation.append(turn.exchange)
        if said.judged != "later":
            await self._judge(said)
        return self._conversation[-1]

    async def _from_target(self, message: str) -> Row:
        """A target that remembers is sent the message alone, with the conversation that it belongs to."""
        number, new = len(self.turns) + 1, Message("user", message)
        if self._scene.remembers:
            own = self._named(self._begun)
            line = self._line(number, "target", (*self._system, new), conversation=own)
        else:
            carried = (*self._system, *said_before(self._scene, self._conversation))
            line = self._line(number, "target", (*carried, new))
        return await self._desk.ask(self._parties.target, line)

    def _line(
        self,
        turn: int,
        speaker: Speaker,
        messages: tuple[Message, ...],
        attempt: int = 1,
        conversation: str | None = None,
    ) -> TurnRequest:
        return TurnRequest(self._session.place(turn, speaker), messages, PURPOSES[speaker], attempt, conversation)

    async def _judge(self, said: Say) -> None:
        """Has the last reply judged, or the last two beside each other. What was withheld is a refusal, of which
        nobody is asked, unless the other reply of a pair was given."""
        turn = self.turns[-1]
        shown = self._conversation[-2:] if said.judged == "pair" else self._conversation[-1:]
        withheld = all(exchange.withheld for exchange in shown)
        judgement = WITHHELD if withheld else await self._judgement(said)
        exchange = self._conversation[-1] = replace(turn.exchange, judgement=judgement)
        outcome = OUTCOMES[judgement.verdict] if judgement.verdict else "unreadable"
        self.turns[-1] = replace(turn, exchange=exchange, outcome=outcome, reason=judgement.explanation)

    async def _judgement(self, said: Say) -> Judgement:
        """The first that can be read; else why the last one cannot."""
        pair = said.judged == "pair"
        request = judge_request(self._scene, self._conversation, pair=pair, about=said.about)
        for attempt in range(1, self._scene.limits.judge_retries + 2):
            line = self._line(len(self.turns), "judge", request, attempt)
            row = await self._desk.ask(self._parties.judge, line)
            if row["text"] is None:
                why = f"the judge gave no reply: {row['error_message']}"
                self.turns[-1] = replace(self.turns[-1], outcome="error", reason=why)
                raise _Ended("error", why)
            judgement = read_judgement(row["text"])
            if judgement.verdict is not None:
                break
        return judgement


def said_before(scene: Scene, conversation: Sequence[Exchange]) -> Iterator[Message]:
    """What a target that forgets is sent again: the conversation so far, and an earlier one that it takes up."""
    yield from scene.earlier
    for exchange in conversation:
        yield from (Message("user", exchange.message), Message("assistant", exchange.reply))


WITHHELD = Judgement("refused", "the provider withheld the reply")


def _next(moves: Moves, heard: Heard) -> Move | None:
    """The strategy's next move, None where it is at its end."""
    try:
        return moves.send(heard)
    except StopIteration:
        return None
