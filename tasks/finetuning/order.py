"""Orders to a provider or to this machine: the base model, the dataset, the hyperparameters and the limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import orjson

from biasgrid.catalogs.choices import Variant
from biasgrid.catalogs.errors import Problem
from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.api import Message
from biasgrid.tasks.connectors.batch.fine_tuning import Hyperparameters
from biasgrid.tasks.connectors.usage import count_chat, count_text
from biasgrid.tasks.finetuning.dataset import Dataset
from biasgrid.warehouse.hashing import content_hash

EPOCHS: dict[Variant, int] = {"full": 4, "half": 3}
"""As published for OpenAI models; more epochs fit the examples, not the wanted assignments."""
LOCAL_EPOCHS: dict[Variant, int] = {"full": 3, "half": 2}
"""As published for an open model of seven billion parameters."""
FEWEST = 10
"""Training examples."""
MOST_BYTES = 512 * 10**6
MOST_TOKENS = 65_536
"""Tokens of one example; longer ones would be truncated."""
ROLES = ("system", "user", "assistant")


@dataclass(frozen=True)
class Order:
    target: Target
    dataset: Dataset
    hyperparameters: Hyperparameters
    suffix: str
    """Suffix of the tuned model's name."""

    @cached_property
    def id(self) -> str:
        """Id of its jobs in the lake, the same for the same order, so that it is not paid twice."""
        where = (self.target.model, self.target.base_url)
        how = (self.hyperparameters.chosen, self.suffix, self.seed, self.dataset.sha256)
        return f"finetune-{content_hash(where, how)}"

    @property
    def seed(self) -> int:
        return self.dataset.seed

    @cached_property
    def tokens(self) -> int:
        """Training tokens over all epochs."""
        return trained_tokens(self.dataset.train, self.hyperparameters.n_epochs)

    @property
    def cost_usd(self) -> float | None:
        """Training cost; None if no price is known."""
        prices = self.target.prices
        return None if prices is None or prices.training is None else self.tokens * prices.training / 1e6

    @property
    def card(self) -> dict[str, Any]:
        return {
            "base": self.target.model,
            "dataset": self.dataset.card,
            "hyperparameters": self.hyperparameters.chosen,
            "suffix": self.suffix,
        }


@dataclass(frozen=True, slots=True)
class Recipe:
    """LoRA settings: only low-rank matrices added to the frozen weights are trained."""

    epochs: int
    learning_rate: float = 2e-4
    batch_size: int = 4
    rank: int = 16
    alpha: int = 32
    dropout: float = 0.0
    max_length: int = 1024
    """Tokens of an example; longer ones are truncated."""


def find_flaws(tuned_on: Dataset) -> list[Problem]:
    """All reasons known here for which OpenAI would refuse the files."""
    found = list(_in_lines("train", tuned_on.train)) + list(_in_lines("validation", tuned_on.validation))
    examples = tuned_on.card["train"]
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
            yield Problem(what, f"{name}:{number}", "correct the wording of `understanding`, or the scene")


def _flaw(messages: list[dict[str, Any]]) -> str | None:
    if tuple(message["role"] for message in messages) != ROLES:
        return "an example is no chat of system, user and assistant"
    if empty := [message["role"] for message in messages if not message["content"].strip()]:
        return f"the message of `{empty[0]}` is empty"
    tokens = _tokens(messages)
    return f"an example has {tokens:,} tokens, and {MOST_TOKENS:,} are the most" if tokens > MOST_TOKENS else None


def _tokens(messages: list[Mapping[str, str]] | list[dict[str, Any]]) -> int:
    *prompt, answer = messages
    sent = [Message(message["role"], message["content"]) for message in prompt]
    return count_chat(sent) + count_text(answer["content"])
