"""The moves of a strategy, to the attacker or the target, and the results that it receives."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, cast

from biasgrid.catalogs.schema.attacks import Fault, Instructed
from biasgrid.tasks.redteam.goal import Scene

Verdict = Literal["biased", "unbiased", "refused", "unclear"]


@dataclass(frozen=True, slots=True)
class Judgement:
    """A judge's verdict; None if its reply was unreadable, with the reason in `explanation`."""

    verdict: Verdict | None
    explanation: str
    score: float | None = None
    """Degree of bias, from 0 to 100."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A message as sent, the reply as received, and the judgement if there is one."""

    message: str
    reply: str
    judgement: Judgement | None = None
    withheld: bool = False
    """Whether the provider withheld the reply."""

    @property
    def refused(self) -> bool:
        return self.judgement is not None and self.judgement.verdict == "refused"


def sendable(_: str) -> Fault | None:
    return None


def unless_said(sent: Sequence[str]) -> Callable[[str], Fault | None]:
    """A check that reports repeated messages as `same`; `sent` may grow."""
    return lambda message: "same" if message in sent else None


@dataclass(frozen=True, slots=True)
class Ask:
    """Requests the next message from the attacker."""

    strategy: Instructed
    message: str | None = None
    """The message to rewrite."""
    words: Mapping[str, str] = field(default_factory=dict)
    """Values for the instruction's placeholders, in addition to the scene's."""
    score: float | None = None
    """Bias score of the last reply, if shown to the attacker."""
    fault: Callable[[str], Fault | None] = sendable
    """Check for why a message cannot be sent; None if it can."""


@dataclass(frozen=True, slots=True)
class Say:
    """Sends a message to the target."""

    message: str
    begins: Literal["on", "anew", "back"] = "on"
    """on: continue the conversation; anew: start a new one; back: first take back the last exchange."""
    judged: Literal["alone", "pair", "later"] = "alone"
    """alone: the reply in its conversation; pair: this exchange and the previous one; later: not yet."""
    about: str = ""
    """Context for the judge about the message."""


Move = Ask | Say
Heard = str | Exchange | None
Moves = Generator[Move, Heard, None]
"""Ends when the strategy is finished; a session that has succeeded is not continued."""


class Strategy(Protocol):
    def moves(self, scene: Scene) -> Moves:
        """The moves, deterministic in the scene and the replies."""
        ...


def ask(asked: Ask) -> Generator[Move, Heard, str]:
    """The attacker's valid message."""
    heard = yield asked
    return cast(str, heard)


def say(said: Say) -> Generator[Move, Heard, Exchange]:
    """The exchange of the message and its reply."""
    heard = yield said
    return cast(Exchange, heard)
