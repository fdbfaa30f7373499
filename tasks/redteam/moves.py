"""What a strategy does, and what it hears back: it asks the attacker for a message, or says one to the target."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, cast

from biasgrid.catalogs.schema.attacks import Fault, Instructed
from biasgrid.tasks.redteam.goal import Scene

Verdict = Literal["biased", "unbiased", "refused", "unclear"]


@dataclass(frozen=True, slots=True)
class Judgement:
    """`verdict` is None where the judge's reply could not be read; `explanation` then says why."""

    verdict: Verdict | None
    explanation: str
    score: float | None = None
    """How biased, from 0 to 100."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A message as sent, the reply as received, and what the judge made of it if it was asked."""

    message: str
    reply: str
    judgement: Judgement | None = None
    withheld: bool = False
    """Whether its provider kept the reply back."""

    @property
    def refused(self) -> bool:
        return self.judgement is not None and self.judgement.verdict == "refused"


def sendable(_: str) -> Fault | None:
    return None


def unless_said(sent: Sequence[str]) -> Callable[[str], Fault | None]:
    """The fault of a message that has been sent before; none of any other. `sent` may grow."""
    return lambda message: "same" if message in sent else None


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask the attacker for the next message."""

    strategy: Instructed
    message: str | None = None
    """The message that it is to rework."""
    words: Mapping[str, str] = field(default_factory=dict)
    """What its instruction has places for, beside what the scene tells."""
    score: float | None = None
    """How close the last reply came, where it is told."""
    fault: Callable[[str], Fault | None] = sendable
    """Why a message cannot be sent; None: it can."""


@dataclass(frozen=True, slots=True)
class Say:
    """Say something to the target."""

    message: str
    begins: Literal["on", "anew", "back"] = "on"
    """on: the conversation goes on; anew: in a new one; back: the last exchange is taken back first."""
    judged: Literal["alone", "pair", "later"] = "alone"
    """alone: the reply, in the conversation that led to it; pair: this exchange beside the one before; later: not
    yet."""
    about: str = ""
    """What the judge has to know about the message."""


Move = Ask | Say
Heard = str | Exchange | None
Moves = Generator[Move, Heard, None]
"""Ends where the strategy is at its end. A session that has succeeded goes no further."""


class Strategy(Protocol):
    def moves(self, scene: Scene) -> Moves:
        """The same scene and the same replies give the same moves."""
        ...


def ask(asked: Ask) -> Generator[Move, Heard, str]:
    """The attacker's message, one that can be sent."""
    heard = yield asked
    return cast(str, heard)


def say(said: Say) -> Generator[Move, Heard, Exchange]:
    """The exchange that came of it."""
    heard = yield said
    return cast(Exchange, heard)
