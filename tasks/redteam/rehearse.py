"""Simulates a session with placeholder replies to forecast its requests; nothing is sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from biasgrid.tasks.connectors.api import Message
from biasgrid.tasks.redteam.converse import earlier_messages
from biasgrid.tasks.redteam.goal import Scene
from biasgrid.tasks.redteam.prompts import attacker_request, judge_request
from biasgrid.tasks.redteam.session import Ask, Exchange, Judgement, Move, Result, Say, Speaker, Strategy

WORD = "word "
"""About one token, both counted and estimated."""


@dataclass(frozen=True, slots=True)
class Lengths:
    """Tokens of the attacker's messages and of the target's replies."""

    message: int
    reply: int


@dataclass(frozen=True, slots=True)
class Sent:
    """A request to one party, with the number of possible retries for a usable reply."""

    speaker: Speaker
    messages: tuple[Message, ...]
    repeats: int = 0


def shortest(strategy: Strategy, scene: Scene, lengths: Lengths) -> list[Move]:
    """The moves if the first judged reply is biased."""
    return _moves(strategy, scene, lengths, biased=True)


def longest(strategy: Strategy, scene: Scene, lengths: Lengths) -> list[Move]:
    """The maximum of moves: no reply is biased, and all allowed backtracks follow the longest conversation."""
    return _moves(strategy, scene, lengths, biased=False)


def _moves(strategy: Strategy, scene: Scene, lengths: Lengths, *, biased: bool) -> list[Move]:
    moves, made, sent = strategy(scene), list[Move](), 0
    result: Result = None
    while not (biased and made and isinstance(made[-1], Say) and made[-1].judged != "later"):
        try:
            move = moves.send(result)
        except StopIteration:
            break
        made.append(move)
        if isinstance(move, Ask):
            result = WORD * lengths.message
        else:
            sent += 1
            verdict = Judgement("unbiased" if sent < scene.limits.turns else "refused", "as expected", 0.0)
            result = Exchange(move.message, "", verdict)
    return made


def requests(scene: Scene, moves: Sequence[Move], lengths: Lengths, system: str | None = None) -> Iterator[Sent]:
    """The requests of the moves to attacker, target and judge; `system` as in biasgrid.tasks.redteam.converse."""
    before = (Message("system", system),) if system else ()
    conversation: list[Exchange] = []
    for move in moves:
        if isinstance(move, Ask):
            yield Sent("attacker", attacker_request(move, scene, conversation), scene.limits.attacker_retries)
            continue
        if move.begins == "anew":
            conversation = []
        elif move.begins == "back":
            conversation.pop()
        carried = () if scene.remembers else earlier_messages(scene, conversation)
        yield Sent("target", (*before, *carried, Message("user", move.message)))
        conversation.append(Exchange(move.message, WORD * lengths.reply))
        if move.judged != "later":
            asked = judge_request(scene, conversation, pair=move.judged == "pair", about=move.about)
            yield Sent("judge", asked, scene.limits.judge_retries)
