"""The files of a fine-tuning job, as OpenAI validates them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from tasks.connectors.respondent.openai_protocol import COUNTED_AS
from tasks.connectors.tokens import count_text

FEWEST = 10
ROLES = ("system", "user", "assistant", "tool", "developer")
QUOTED = 3
"""Of the flaws of a file."""


@dataclass(frozen=True, slots=True)
class Examples:
    """What could be read of a file."""

    count: int
    tokens: int
    flaws: tuple[str, ...]


def read(content: bytes, fewest: int = FEWEST) -> Examples:
    """`fewest`: examples that the file must have."""
    found = content.splitlines()
    flaws = [f"line {number}: {flaw}" for number, line in enumerate(found, 1) for flaw in _flaws(line)]
    if len(found) < fewest:
        flaws.append(f"Training file has {len(found)} example(s), but must have at least {fewest} examples")
    tokens = 0 if flaws else sum(_tokens(line) for line in found)
    return Examples(len(found), tokens, tuple(flaws[:QUOTED]))


def _flaws(line: bytes) -> Iterator[str]:
    try:
        example = json.loads(line)
    except ValueError:
        yield "Expected file to have JSONL format, where every line is a valid JSON dictionary"
        return
    messages = example.get("messages") if isinstance(example, dict) else None
    if not isinstance(messages, list) or not messages:
        yield "Missing key: messages"
        return
    if not all(_is_message(message) for message in messages):
        yield "a message has no role and content that are known"
    elif messages[-1]["role"] != "assistant":
        yield "the last message must be from the assistant"


def _is_message(message: object) -> bool:
    return isinstance(message, dict) and message.get("role") in ROLES and isinstance(message.get("content"), str)


def _tokens(line: bytes) -> int:
    return sum(count_text(COUNTED_AS, message["content"]) for message in json.loads(line)["messages"])
