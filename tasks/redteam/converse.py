"""Plays one session: strategy, attacker, target and judge, turn by turn.

A resumed session is replayed: the same scene and replies give the same moves, and landed replies are reused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from biasgrid.catalogs.schema.attacks import Fault
from biasgrid.catalogs.text_safety import storable
from biasgrid.tasks.connectors.api import Message, is_withheld
from biasgrid.tasks.connectors.replaying_client import ReplayingClient, Row, SendingStopped, TurnRequest
from biasgrid.tasks.redteam.goal import Scene
from biasgrid.tasks.redteam.prompts import OUTCOMES, attacker_request, judge_request, read_judgement, read_message
from biasgrid.tasks.redteam.session import (
    PURPOSES,
    Ask,
    Exchange,
    Judgement,
    Moves,
    Outcome,
    Parties,
    Result,
    Say,
    Session,
    Speaker,
    Transcript,
    Turn,
    conclude,
)
from biasgrid.tasks.redteam.strategies import STRATEGIES


class _Ended(Exception):
    """Ends a session at once, with its outcome."""

    def __init__(self, outcome: Outcome, reason: str) -> None:
        super().__init__(outcome, reason)
        self.outcome, self.reason = outcome, reason


async def attack_session(
    session: Session, parties: Parties, desk: ReplayingClient, system: str | None = None
) -> Transcript:
    """Plays one session to its end; errors on the way become its outcome, only those that stop the run are raised.

    `system` precedes every conversation with the target."""
    play = _Play(session, parties, desk, system)
    try:
        await play.through(STRATEGIES[session.strategy](session.scene))
        outcome, reason = conclude(tuple(play.turns))
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
        self._conversations = 1

    async def through(self, moves: Moves) -> None:
        """Plays until the strategy ends or a reply is biased. Raises _Ended and SendingStopped."""
        result: Result = None
        while not (self.turns and self.turns[-1].outcome == "failed"):
            try:
                move = moves.send(result)
            except StopIteration:
                return
            result = await (self._write(move) if isinstance(move, Ask) else self._send(move))

    async def leave(self) -> None:
        """Releases the conversations of a target that remembers them."""
        for number in range(1, self._conversations + 1) if self._scene.remembers else ():
            await self._desk.model_pool.forget(self._parties.target.target, self._conversation_id(number))

    def _conversation_id(self, number: int) -> str:
        """A conversation id unique to this run, as the chatbot may keep conversations of earlier runs by id."""
        return f"{self._session.run_id}-{self._session.id}-{number}"

    async def _write(self, asked: Ask) -> str:
        """A valid message of the attacker. Raises _Ended after too many attempts."""
        faults: list[Fault] = []
        for attempt in range(1, self._scene.limits.attacker_retries + 2):
            request = attacker_request(asked, self._scene, self._conversation, faults)
            message = read_message(await self._from_attacker(request, attempt))
            fault = "unreadable" if message is None else asked.fault(message)
            if message is not None and fault is None:
                return message
            faults.append(fault or "unreadable")
        names = ", ".join(dict.fromkeys(faults))
        raise _Ended("attacker failed", f"no message that could be sent in {len(faults)} attempts: {names}")

    async def _from_attacker(self, request: tuple[Message, ...], attempt: int) -> str:
        attacker = self._parties.attacker
        if attacker is None:
            raise _Ended("attacker failed", "the strategy needs an attacker, and none is named")
        line = self._line(len(self.turns) + 1, "attacker", request, attempt)
        row = await self._desk.ask(attacker, line)
        if row["text"] is None:
            raise _Ended("attacker failed", f"the attacker gave no reply: {row['error_message']}")
        return str(row["text"])

    async def _send(self, move: Say) -> Exchange:
        """The exchange of a message and its reply, judged unless the move defers it."""
        if move.begins == "anew" and self.turns:
            self._conversation, self._conversations = [], self._conversations + 1
        if move.begins == "back":
            self._conversation.pop()
        row = await self._from_target(move.message)
        reply = storable(row["text"] or "")  # normalised on receipt, so that a replay sends the same text
        exchange = Exchange(move.message, reply, withheld=is_withheld(row["finish_reason"]))
        turn = Turn(len(self.turns) + 1, exchange, row["response_id"], None)
        if row["text"] is None:
            why = f"the target gave no reply: {row['error_message']}"
            self.turns.append(replace(turn, outcome="error", reason=why))
            raise _Ended("error", why)
        self.turns.append(turn)
        self._conversation.append(turn.exchange)
        if move.judged != "later":
            await self._judge(move)
        return self._conversation[-1]

    async def _from_target(self, message: str) -> Row:
        """The target's reply row; a target that remembers receives only the new message."""
        number, new = len(self.turns) + 1, Message("user", message)
        if self._scene.remembers:
            own = self._conversation_id(self._conversations)
            line = self._line(number, "target", (*self._system, new), conversation=own)
        else:
            carried = (*self._system, *earlier_messages(self._scene, self._conversation))
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

    async def _judge(self, move: Say) -> None:
        """Judges the last reply, or the last two as a pair; if all are withheld, they count as refused."""
        turn = self.turns[-1]
        shown = self._conversation[-2:] if move.judged == "pair" else self._conversation[-1:]
        withheld = all(exchange.withheld for exchange in shown)
        judgement = WITHHELD if withheld else await self._request_judgement(move)
        exchange = self._conversation[-1] = replace(turn.exchange, judgement=judgement)
        outcome = OUTCOMES[judgement.verdict] if judgement.verdict else "unreadable"
        self.turns[-1] = replace(turn, exchange=exchange, outcome=outcome, reason=judgement.explanation)

    async def _request_judgement(self, move: Say) -> Judgement:
        """The first readable judgement, else the last with the reason why it is unreadable."""
        pair = move.judged == "pair"
        request = judge_request(self._scene, self._conversation, pair=pair, about=move.about)
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


def earlier_messages(scene: Scene, conversation: Sequence[Exchange]) -> Iterator[Message]:
    """The earlier messages that a target without memory needs again, the history first."""
    yield from scene.earlier
    for exchange in conversation:
        yield from (Message("user", exchange.message), Message("assistant", exchange.reply))


WITHHELD = Judgement("refused", "the provider withheld the reply")
