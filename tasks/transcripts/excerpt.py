"""Excerpts of long texts."""

from __future__ import annotations

from dataclasses import dataclass

LONGEST = 4_000
"""Characters of a text that are shown; the full text is in the lake."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The beginning of a text, and its total number of characters."""

    text: str
    signs: int

    @classmethod
    def of(cls, text: str | None) -> Excerpt | None:
        return None if text is None else cls(text[:LONGEST], len(text))

    @property
    def left_out(self) -> int:
        return self.signs - len(self.text)
