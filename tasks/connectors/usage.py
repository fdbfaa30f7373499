"""Token counts of texts: OpenAI's with the shipped vocabulary, otherwise estimates."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.resources import as_file, files
from threading import Lock
from typing import TYPE_CHECKING

from biasgrid.catalogs.schema.models import Prices, Target
from biasgrid.tasks.connectors.api import Message, Reply

if TYPE_CHECKING:
    from tiktoken import Encoding


def cost_usd(reply: Reply, prices: Prices | None) -> float | None:
    """The cost of a reply at list price; None if price or tokens are unknown."""
    if (
        prices is None
        or (prices.input and reply.input_tokens is None)
        or (prices.output and reply.output_tokens is None)
    ):
        return None
    return list_price(prices, reply.input_tokens or 0, reply.output_tokens or 0)


def list_price(prices: Prices, sent: float, received: float, requests: float = 1) -> float:
    """Cost in US dollars of token counts, at prices per million tokens, and requests."""
    return (sent * prices.input + received * prices.output) / 1e6 + requests * prices.request


def format_usd(usd: float) -> str:
    """An amount in cents, or with the digits it needs: `$5.00`, `$0.0026`."""
    cents = f"{usd:,.2f}"
    fine = f"{usd:,.{4 if usd >= 0.01 else 6}f}".rstrip("0")
    return f"${cents}" if len(fine) <= len(cents) else f"${fine}"


VOCABULARY = "o200k_base"
CHARACTERS_PER_TOKEN = 4
"""Characters per token in English, for tokenizers that are not available."""
PER_MESSAGE = 3
PRIMES_REPLY = 3
LONG = 20_000
"""Characters counted at once; at a million blanks tiktoken panics, which `except Exception` does not catch."""
CACHE = "TIKTOKEN_CACHE_DIR"
OPENAI = ("openai", "azure")
"""Connectors whose requests are counted with OpenAI's tokenizer, exactly or as an estimate."""


def count_text(text: str) -> int:
    """Tokens in the vocabulary o200k_base, an estimate for models with another one (`is_exact`)."""
    encode = _encoding().encode_ordinary
    return sum(len(encode(text[start : start + LONG])) for start in range(0, len(text), LONG))


def count_chat(messages: Sequence[Message]) -> int:
    """The prompt tokens that OpenAI counts for a chat: role and text, 3 per message, 3 for the reply."""
    # Source: OpenAI Cookbook, "How to count tokens with tiktoken", section 6.
    texts = [text for message in messages for text in (message.role, message.content)]
    return PRIMES_REPLY + PER_MESSAGE * len(messages) + sum(map(count_text, texts))


def is_exact(model: str) -> bool:
    """Whether an OpenAI model, `openai/gpt-4o` or `gpt-4o`, is known to count with o200k_base."""
    from tiktoken.model import encoding_name_for_model

    try:
        return encoding_name_for_model(model.rpartition("/")[2]) == VOCABULARY
    except KeyError:
        return False


def count_prompts(texts: Sequence[str]) -> list[int]:
    """The input tokens that OpenAI counts for each text as a user's only message."""
    around = count_chat([Message("user", "")])
    return [around + count_text(text) for text in texts]


def counts_exactly(target: Target) -> bool:
    """Whether a forecast's input tokens equal what the target will report, or are an estimate."""
    return target.connector == "simulated" or (target.connector in OPENAI and is_exact(target.name))


def estimate_tokens(text: str) -> int:
    """Four characters per token, at least one token."""
    return max(1, -(-len(text) // CHARACTERS_PER_TOKEN))


@cache
def _encoding() -> Encoding:
    import tiktoken

    with _shipped_vocabulary():
        return tiktoken.get_encoding(VOCABULARY)


_one_at_a_time = Lock()


@contextmanager
def _shipped_vocabulary() -> Iterator[None]:
    """Makes tiktoken read the shipped file, since it would download one missing in a user's directory."""
    with _one_at_a_time, as_file(files("biasgrid.tasks.connectors") / "vocabulary") as directory:
        own = os.environ.get(CACHE)
        os.environ[CACHE] = str(directory)
        try:
            yield
        finally:
            if own is None:
                del os.environ[CACHE]
            else:
                os.environ[CACHE] = own
