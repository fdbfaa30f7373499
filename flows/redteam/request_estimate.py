"""Estimates requests of red-team sessions by simulating one of each kind with placeholder replies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import polars as pl

from biasgrid.catalogs.choices import StrategyName
from biasgrid.catalogs.scenario.targets import ResolvedAttack
from biasgrid.catalogs.schema.models import Target
from biasgrid.flows.forecast.reply_estimates import ExpectedReply, Observed, expected_reply, most_tokens
from biasgrid.flows.redteam.prepare import MESSAGE_TOKENS, plan_by_cell
from biasgrid.tasks.connectors.api import Message
from biasgrid.tasks.connectors.usage import estimate_tokens
from biasgrid.tasks.redteam.converse import earlier_messages
from biasgrid.tasks.redteam.goal import Scene
from biasgrid.tasks.redteam.prompts import JUDGEMENT_TOKENS, attacker_request, judge_request
from biasgrid.tasks.redteam.session import (
    Ask,
    Exchange,
    Judgement,
    Move,
    Parties,
    Result,
    Say,
    Session,
    Speaker,
    Strategy,
)
from biasgrid.tasks.redteam.strategies import STRATEGIES

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


Extent = Literal["least", "resisted", "most"]
"""least: the first reply that is judged is biased; resisted: none is, and no request is repeated;
most: everything is as long, and asked for as often, as may be."""
EXTENTS: Final[tuple[Extent, ...]] = ("least", "resisted", "most")
SCHEMA: Final[Mapping[str, type[pl.DataType]]] = {
    "kind": pl.Int64,
    "extent": pl.String,
    "language": pl.String,
    "strategy": pl.String,
    "target": pl.String,
    "part": pl.String,
    "model": pl.String,
    "sessions": pl.Int64,
    "requests": pl.Int64,
    "input_tokens": pl.Int64,
    "output_tokens": pl.Float64,
    "most_output_tokens": pl.Int64,
    "waiting_s": pl.Float64,
    "seen": pl.Int64,
}


def attack_load(resolved: ResolvedAttack, observed: Observed, ended: Collection[str] = ()) -> pl.DataFrame:
    """Requests by kind of session and extent as SCHEMA, over all `sessions`; `ended`: ids of finished sessions."""
    rows = [
        (number, *row)
        for number, kind in enumerate(_kinds(resolved, ended))
        for extent in EXTENTS
        for row in _rows(kind, observed, extent)
    ]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


@dataclass(frozen=True, slots=True)
class _Kind:
    """Sessions with the same moves against the same target, represented by the first."""

    parties: Parties
    first: Session
    sessions: int
    system: str | None


Alike = tuple[str, str, StrategyName, tuple[bool, ...]]
"""Model, language, strategy and shape."""


def _kinds(resolved: ResolvedAttack, ended: Collection[str]) -> Iterator[_Kind]:
    counts, firsts = Counter[Alike](), dict[Alike, tuple[Parties, Session]]()
    for parties, sessions in plan_by_cell("unplanned", resolved):
        for session in sessions:
            if session.id not in ended:
                language, shape = session.scene.goal.language, _shape(session)
                alike: Alike = (parties.target.target.model, language, session.strategy, shape)
                counts[alike] += 1
                firsts.setdefault(alike, (parties, session))
    for alike, count in counts.items():
        yield _Kind(*firsts[alike], count, resolved.file.target.system)


def _shape(session: Session) -> tuple[bool, ...]:
    """Model requested in each move; attacker messages may depend on the pair's words."""
    moves = longest(STRATEGIES[session.strategy], session.scene, Lengths(1, 1))
    return tuple(isinstance(move, Ask) for move in moves)


def _rows(kind: _Kind, observed: Observed, extent: Extent) -> Iterator[tuple[object, ...]]:
    first, scene = kind.first, kind.first.scene
    parts = {part: (target, most) for part, target, most in _parts(kind.parties)}
    replies = {
        part: _reply(target, _reply_kind(part, first.strategy), most, observed, extent)
        for part, (target, most) in parts.items()
    }
    attacker = replies.get("attacker")
    lengths = Lengths(round(attacker.tokens) if attacker else 0, round(replies["target"].tokens))
    made = (shortest if extent == "least" else longest)(STRATEGIES[first.strategy], scene, lengths)
    place = (extent, scene.goal.language, first.strategy, kind.parties.target.target.model)
    for sent in requests(scene, made, lengths, kind.system):
        (target, most), reply = parts[sent.speaker], replies[sent.speaker]
        times = kind.sessions * (1 + (sent.repeats if extent == "most" else 0))
        tokens = sum(estimate_tokens(message.content) for message in sent.messages)
        amounts = (times, times * tokens, times * reply.tokens, times * most_tokens(target, most))
        yield (*place, sent.speaker, target.model, kind.sessions, *amounts, times * reply.seconds, reply.seen)


def _parts(parties: Parties) -> Iterator[tuple[Speaker, Target, int | None]]:
    yield "target", parties.target.target, parties.target.max_tokens
    yield "judge", parties.judge.target, JUDGEMENT_TOKENS
    if parties.attacker:
        yield "attacker", parties.attacker.target, MESSAGE_TOKENS


def _reply_kind(part: Speaker, strategy: StrategyName) -> str:
    """Kind of reply, because a target's replies depend on the strategy."""
    return strategy if part == "target" else {"attacker": "message", "judge": "judgement"}[part]


def _reply(target: Target, kind: str, most: int | None, observed: Observed, extent: Extent) -> ExpectedReply:
    found = expected_reply(target, kind, most, observed)
    if extent != "most":
        return found
    longest_reply = max(found.tokens, most_tokens(target, most))
    return ExpectedReply(longest_reply, found.seconds * longest_reply / max(found.tokens, 1), found.seen)
