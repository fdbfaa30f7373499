"""Which answers an oracle lets pass: of those that an instruction offers, and of always the same word."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from biasgrid.catalogs.loading.normal_form import begins, compared, holds
from biasgrid.catalogs.schema.oracle import Oracle

AFFIRMING = frozenset({"yes", "agree", "sí", "de acuerdo", "d'acord", "i agree", "true"})
DENYING = frozenset({"no", "disagree", "en desacuerdo", "en desacord", "i disagree", "false"})


def passes(answer: str, oracle: Oracle) -> bool:
    """Whether a reply that is just this answer meets an oracle of listed values."""
    return _found(answer, oracle.expected, oracle.where) is not oracle.judged.forbids


@lru_cache(maxsize=4096)
def _found(answer: str, expected: tuple[str, ...], where: str) -> bool:
    return holds(answer, expected) if where == "anywhere" else begins(answer, expected)


def passing(answers: Sequence[str], oracle: Oracle) -> list[bool]:
    """For each answer, whether it passes."""
    return [passes(answer, oracle) for answer in answers]


def affirming(answers: Sequence[str]) -> str | None:
    """The answer among those offered that agrees with what is asked."""
    return next((answer for answer in answers if compared(answer) in AFFIRMING), None)


def denying(answers: Sequence[str]) -> str | None:
    """The answer among those offered that rejects what is asked."""
    return next((answer for answer in answers if compared(answer) in DENYING), None)
