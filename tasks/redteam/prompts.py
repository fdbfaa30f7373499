"""The attacker's request, and the message parsed from its reply."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from biasgrid.catalogs.schema.attacks import Fault, filled
from biasgrid.catalogs.text_safety import storable
from biasgrid.tasks.connectors.api import Message
from biasgrid.tasks.connectors.json_objects import NotAsAsked, delimiter, parse_object, quote_block
from biasgrid.tasks.redteam.goal import Scene
from biasgrid.tasks.redteam.moves import Ask, Exchange

LONGEST_MESSAGE = 8_000
"""Characters; no user message is longer."""
SHOWN = 12
"""Exchanges shown to the attacker, the last of the conversation."""


def attacker_request(
    asked: Ask, scene: Scene, conversation: Sequence[Exchange], faults: Sequence[Fault] = ()
) -> tuple[Message, ...]:
    """The attacker's request: instruction, delimited conversation, and why its last attempt was rejected."""
    words = scene.wording.attacker
    instruction = filled(words.strategies[asked.strategy], scene.about | dict(asked.words))
    said = [*_earlier(scene, words.blocks["user"], words.blocks["chatbot"])]
    for exchange in conversation[-SHOWN:]:
        said += [(words.blocks["user"], exchange.message), (words.blocks["chatbot"], exchange.reply)]
    if asked.message is not None:
        said.append((words.blocks["message"], asked.message))
    own = delimiter(*(text for _, text in said), "")
    parts = [quote_block(name, own, text) for name, text in said]
    if asked.score is not None:
        parts.append(filled(words.blocks["score"], {"score": f"{asked.score:g}"}))
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
