"""Checks a provider's limits on tuning data before anything is uploaded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from biasgrid.catalogs.errors import Problem
from biasgrid.tasks.connectors.api import Message
from biasgrid.tasks.connectors.usage import count_chat, count_text
from biasgrid.tasks.finetuning.dataset import Dataset

FEWEST = 10
"""Training examples."""
MOST_BYTES = 512 * 10**6
MOST_TOKENS = 65_536
"""Tokens of one example; longer ones would be truncated."""
ROLES = ("system", "user", "assistant")
COUNTED_AS = "gpt-4o"


def flaws(tuned_on: Dataset) -> list[Problem]:
    """All reasons known here for which OpenAI would refuse the files."""
    found = list(_in_lines("train", tuned_on.train)) + list(_in_lines("validation", tuned_on.validation))
    examples = tuned_on.told["train"]
    if examples < FEWEST:
        what = f"there are {examples} examples to train on, and {FEWEST} are the fewest"
        found.append(Problem(what, "catalogs/tuning", "add scenes with reasons, or a language with `--language`"))
    if not tuned_on.validation:
        what = "no scene is left to validate on"
        found.append(Problem(what, "catalogs/tuning", "add scenes with reasons"))
    return found


def trained_tokens(lines: bytes, epochs: int) -> int:
    """Billed tokens over all epochs, counted as OpenAI counts a chat's."""
    return epochs * sum(_tokens(orjson.loads(line)["messages"]) for line in lines.splitlines())


def _in_lines(name: str, content: bytes) -> Iterator[Problem]:
    if len(content) > MOST_BYTES:
        yield Problem(f"`{name}` has {len(content):,} bytes, and {MOST_BYTES:,} are the most", "catalogs/tuning")
    for number, line in enumerate(content.splitlines(), 1):
        what = _flaw(orjson.loads(line)["messages"])
        if what:
            yield Problem(what, f"{name}:{number}", "put it right in the wording of `understanding`, or the scene")


def _flaw(messages: list[dict[str, Any]]) -> str | None:
    if tuple(message["role"] for message in messages) != ROLES:
        return "an example is no chat of system, user and assistant"
    if empty := [message["role"] for message in messages if not message["content"].strip()]:
        return f"the message of `{empty[0]}` is empty"
    tokens = _tokens(messages)
    return f"an example has {tokens:,} tokens, and {MOST_TOKENS:,} are the most" if tokens > MOST_TOKENS else None


def _tokens(messages: list[Mapping[str, str]] | list[dict[str, Any]]) -> int:
    *asked, answer = messages
    sent = [Message(message["role"], message["content"]) for message in asked]
    return count_chat(sent) + count_text(answer["content"])
