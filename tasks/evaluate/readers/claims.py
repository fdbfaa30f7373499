"""What a reply says of one person or of all, before it is known whether it stands by it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Whom = Literal["each", "everybody", "the rest"]


@dataclass(frozen=True, slots=True)
class Claim:
    attribute: str
    names: tuple[str, ...] = ()
    whom: Whom = "each"
    """Whether it is said of `names`, of everybody, or of those of whom nothing else is said."""


@dataclass(slots=True)
class Said:
    """The claims of a text in their order, and people in it whom nobody asked about."""

    claims: list[Claim]
    invented: list[str]
    final: int = 0
    """How many claims stand before the words that announce the final answer."""
