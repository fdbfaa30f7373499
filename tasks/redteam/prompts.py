"""The requests to attacker and judge, and what is parsed from their replies.

Messages and replies stand between delimiters that they cannot contain; a judge's reply other than the requested
JSON gives no verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, get_args

from biasgrid.catalogs.schema.attacks import Fault
from biasgrid.catalogs.schema.base import fill_placeholders
from biasgrid.catalogs.text_safety import storable
from biasgrid.tasks.connectors.api import Message
from biasgrid.tasks.connectors.json_objects import NotAsAsked, delimiter, parse_object, quote_block
from biasgrid.tasks.redteam.goal import Scene
from biasgrid.tasks.redteam.session import Ask, Exchange, Judgement, Verdict

LONGEST_MESSAGE = 8_000
"""Characters; no user message is longer."""
SHOWN_TO_ATTACKER = 12
"""Exchanges shown to the attacker, the last of the conversation."""
VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)
OUTCOMES: Final[dict[Verdict, str]] = {
    "biased": "failed",
    "unbiased": "passed",
    "refused": "refused",
    "unclear": "unreadable",
}
"""Outcome in the lake by verdict."""
JUDGEMENT_TOKENS: Final = 400
SHOWN_TO_JUDGE = 3
"""Exchanges shown to the judge: the one to be judged and those before it."""
LONGEST_EXPLANATION: Final = 2_000


def attacker_request(
    asked: Ask, scene: Scene, conversation: Sequence[Exchange], faults: Sequence[Fault] = ()
) -> tuple[Message, ...]:
    """The attacker's request: instruction, delimited conversation, and why its last attempt was rejected."""
    words = scene.wording.attacker
    instruction = fill_placeholders(words.strategies[asked.strategy], scene.about | dict(asked.words))
    shown = [*_earlier(scene, words.blocks["user"], words.blocks["chatbot"])]
    for exchange in conversation[-SHOWN_TO_ATTACKER:]:
        shown += [(words.blocks["user"], exchange.message), (words.blocks["chatbot"], exchange.reply)]
    if asked.message is not None:
        shown.append((words.blocks["message"], asked.message))
    own = delimiter(*(text for _, text in shown), "")
    parts = [quote_block(name, own, text) for name, text in shown]
    if asked.score is not None:
        parts.append(fill_placeholders(words.blocks["score"], {"score": f"{asked.score:g}"}))
    parts += [words.faults[fault] for fault in faults[-1:]]
    return Message("system", f"{instruction}\n\n{words.reply}"), Message("user", "\n\n".join(parts) or words.reply)


def read_message(text: str) -> str | None:
    """The `message` text of the attacker's JSON reply, or None if it is invalid."""
    try:
        message = parse_object(text).get("message")
    except NotAsAsked:
        return None
    if not isinstance(message, str) or not message.strip() or len(message) > LONGEST_MESSAGE:
        return None
    return message if storable(message) == message else None


def _earlier(scene: Scene, user: str, chatbot: str) -> Iterator[tuple[str, str]]:
    names = {"user": user, "assistant": chatbot}
    for message in () if scene.remembers else scene.earlier:  # a target with memory has not received these
        if message.role in names:
            yield names[message.role], message.content


def judge_request(
    scene: Scene, conversation: Sequence[Exchange], *, pair: bool = False, about: str = ""
) -> tuple[Message, ...]:
    """The judge's request about the last exchange, or the last two as a pair; `about` is further context."""
    words, names = scene.wording.judge, scene.wording.attacker.blocks
    shown = conversation[-2:] if pair else conversation[-SHOWN_TO_JUDGE:]
    replies = [words.withheld if exchange.withheld else exchange.reply for exchange in shown]
    own = delimiter(*replies, *(exchange.message for exchange in shown))
    parts = [
        quote_block(f"{name} {number}", own, text)
        for number, (exchange, reply) in enumerate(zip(shown, replies, strict=True), 1)
        for name, text in ((names["user"], exchange.message), (names["chatbot"], reply))
    ]
    instruction = fill_placeholders(words.pair if pair else words.conversation, {"goal": scene.about["goal"]})
    system = "\n\n".join(text for text in (instruction, about, words.reply) if text)
    return Message("system", system), Message("user", "\n\n".join(parts))


def read_judgement(text: str) -> Judgement:
    """The verdict of the judge's reply, parsed strictly; `verdict` is None if it is unreadable."""
    try:
        return _check_judgement(parse_object(text))
    except NotAsAsked as why:
        return Judgement(None, f"the judge's reply {why}")


def _check_judgement(given: dict[str, Any]) -> Judgement:
    verdict, score, explanation = given.get("verdict"), given.get("score"), given.get("explanation")
    if verdict not in VERDICTS:
        return Judgement(None, f"the judge's reply has none of the verdicts {', '.join(VERDICTS)}")
    if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 100:
        return Judgement(None, "the judge's reply has no score from 0 to 100")
    if not isinstance(explanation, str) or not explanation.strip():
        return Judgement(None, "the judge's reply explains nothing")
    whole = explanation.encode("utf-8", "replace").decode("utf-8")[:LONGEST_EXPLANATION]
    return Judgement(verdict, whole, float(score))
