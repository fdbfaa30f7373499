"""Which chunks may hold a text: of each, a bitmap of its runs of three signs.

A chunk that holds a text holds all its trigrams, so what the bitmap rules out need not be loaded. The page hashes
as `slot` does, over code points in lower case.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from functools import lru_cache

SLOTS_EACH = 3
"""Slots per trigram: with as many, two of three are free and a word of five letters is found by chance in 3%."""
FEWEST, MOST = 1 << 10, 1 << 18


def trigrams(texts: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for text in texts:
        told = text.lower()
        found.update(map("".join, zip(told, told[1:], told[2:], strict=False)))
    return found


def bitmap(found: set[str]) -> str:
    """Base64 of the bitmap, whose size is a power of two."""
    size = FEWEST
    while size < min(SLOTS_EACH * len(found), MOST):
        size *= 2
    bits = bytearray(size // 8)
    for trigram in found:
        at = slot(trigram) & (size - 1)
        bits[at >> 3] |= 1 << (at & 7)
    return b64encode(bits).decode()


@lru_cache(maxsize=1 << 17)
def slot(trigram: str) -> int:
    """A hash of 32 bits (FNV-1a over code points)."""
    hashed = 2166136261
    for sign in trigram:
        hashed = ((hashed ^ ord(sign)) * 16777619) & 0xFFFFFFFF
    return hashed ^ (hashed >> 15)
