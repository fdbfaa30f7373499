"""One slip of grammar in a text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Slip:
    """`found` is what is written, `remedy` what to write; `start` is where it begins."""

    found: str
    remedy: str
    start: int = 0
