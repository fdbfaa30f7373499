"""A text as it is shown."""

from __future__ import annotations

from dataclasses import dataclass

LONGEST = 4_000
"""Signs of a text that are shown: what goes on for pages is told of, and lies in the lake."""


@dataclass(frozen=True, slots=True)
class Said:
    """Its beginning, and how many signs it has in all."""

    text: str
    signs: int

    @classmethod
    def of(cls, text: str | None) -> Said | None:
        return None if text is None else cls(text[:LONGEST], len(text))

    @property
    def left_out(self) -> int:
        return self.signs - len(self.text)
