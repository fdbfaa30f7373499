"""The judge's request in a red team, and the verdict parsed from its reply.

Messages and replies stand between delimiters that they cannot contain; a reply other than the requested JSON gives
no verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, get_args

from biasgrid.catalogs.schema.attacks import filled
from biasgrid.tasks.connectors.api import Message
from biasgrid.tasks.connectors.json_objects import NotAsAsked, delimiter, parse_object, quote_block
from biasgrid.tasks.redteam.goal import Scene
from biasgrid.tasks.redteam.moves import Exchange, Judgement, Verdict

VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)
OUTCOMES: Final[dict[Verdict, str]] = {
    "biased": "failed",
    "unbiased": "passed",
    "refused": "refused",
    "unclear": "unreadable",
}
"""Outcome in the lake by verdict."""
JUDGEMENT_TOKENS: Final = 400
SHOWN = 3
"""Exchanges shown to the judge: the one to be judged and those before it."""
LONGEST_EXPLANATION: Final = 2_000


def judge_request(
    scene: Scene, conversation: Sequence[Exchange], *, pair: bool = False, about: str = ""
) -> tuple[Message, ...]:
    """The judge's request about the last exchange, or the last two as a pair; `about` is further context."""
    words, names = scene.wording.judge, scene.wording.attacker.blocks
    shown = conversation[-2:] if pair else conversation[-SHOWN:]
    replies = [words.withheld if exchange.withheld else exchange.reply for exchange in shown]
    own = delimiter(*replies, *(exchange.message for exchange in shown))
    parts = [
        quote_block(f"{name} {number}", own, text)
        for number, (exchange, reply) in enumerate(zip(shown, replies, strict=True), 1)
        for name, text in ((names["user"], exchange.message), (names["chatbot"], reply))
    ]
    instruction = filled(words.pair if pair else words.conversation, {"goal": scene.about["goal"]})
    system = "\n\n".join(text for text in (instruction, about, words.reply) if text)
    return Message("system", system), Message("user", "\n\n".join(parts))


def read_judgement(text: str) -> Judgement:
    """The verdict of the judge's reply, parsed strictly; `verdict` is None if it is unreadable."""
    try:
        return _judgement(parse_object(text))
    except NotAsAsked as why:
        return Judgement(None, f"the judge's reply {why}")


def _judgement(said: dict[str, Any]) -> Judgement:
    verdict, score, explanation = said.get("verdict"), said.get("score"), said.get("explanation")
    if verdict not in VERDICTS:
        return Judgement(None, f"the judge's reply has none of the verdicts {', '.join(VERDICTS)}")
    if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 100:
        return Judgement(None, "the judge's reply has no score from 0 to 100")
    if not isinstance(explanation, str) or not explanation.strip():
        return Judgement(None, "the judge's reply explains nothing")
    whole = explanation.encode("utf-8", "replace").decode("utf-8")[:LONGEST_EXPLANATION]
    return Judgement(verdict, whole, float(score))
