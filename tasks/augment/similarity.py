"""Finds existing entries with the same or nearly the same words."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass, field

from biasgrid.catalogs.schema.wording import SLOT

NEAR = 0.8
"""Smallest Jaccard similarity of words, with their counts, of two nearly identical questions."""
FEW_WORDS = 4


@dataclass(slots=True)
class Known:
    """The wordings of existing entries, normalised."""

    exact: dict[tuple[str, ...], str] = field(default_factory=dict)
    bags: list[tuple[Counter[str], str]] = field(default_factory=list)

    def add(self, name: str, *texts: str) -> None:
        for text in texts:
            words = plain_words(text)
            self.exact.setdefault(words, name)
            self.bags.append((Counter(words), name))

    def find_same(self, *texts: str) -> str | None:
        """The entry with the same words as one of the texts, or None."""
        return next((self.exact[words] for words in map(plain_words, texts) if words in self.exact), None)

    def find_near(self, *texts: str) -> str | None:
        """The entry most similar to one of the texts, if nearly the same."""
        share, name = max((self._closest(Counter(plain_words(text))) for text in texts), default=(0.0, ""))
        return name if share >= NEAR else None

    def _closest(self, words: Counter[str]) -> tuple[float, str]:
        if words.total() < FEW_WORDS:
            return 0.0, ""
        return max(((_jaccard(words, bag), name) for bag, name in self.bags), default=(0.0, ""))


def plain_words(text: str) -> tuple[str, ...]:
    """The words of a text without case, accents of typography and punctuation; a slot is a word, of any form."""
    open_slots = SLOT.sub(lambda slot: f" slot{slot['number']} ", text)
    folded = unicodedata.normalize("NFKC", open_slots).casefold()
    return tuple(re.findall(r"\w+", folded))


def _jaccard(one: Counter[str], other: Counter[str]) -> float:
    most = max(one.total(), other.total())
    if min(one.total(), other.total()) < NEAR * most:
        return 0.0
    shared = (one & other).total()
    return shared / (one.total() + other.total() - shared)
