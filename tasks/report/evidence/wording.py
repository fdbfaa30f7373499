"""How the coverage record says things in a language: plain texts, escaped by whoever shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from biasgrid.tasks.report.figures import share, signed
from biasgrid.tasks.report.html.page import Speech
from biasgrid.tasks.report.languages import words

ABSENT = "–"


@dataclass(frozen=True, slots=True)
class Wording:
    language: str

    def text(self, key: str, /, **given: object) -> str:
        """Raises KeyError for a text that the language does not have, and where something is not given."""
        return words("record", self.language)[key].format(**given)

    def word(self, value: object, kind: str = "finding") -> str:
        """A value of the warehouse as the record or other pages call it; what a catalog alone knows, as it is."""
        spoken = words("pages", self.language) | words("record", self.language)
        known = (spoken[key] for key in (f"{kind}.{value}", f"value.{value}") if key in spoken)
        return ABSENT if value is None else next(known, str(value))

    def words(self, told: str | None, kinds: Sequence[str]) -> str:
        """Values of several kinds, in one text with a comma between them; of kind `` they are names."""
        if told is None:
            return ABSENT
        parts = told.split(", ", max(len(kinds) - 1, 0))
        pairs = zip_longest(parts, kinds[: len(parts)], fillvalue="")
        return ", ".join(self.word(part, kind) if kind else part for part, kind in pairs)

    def count(self, number: int) -> str:
        return self._figures(f"{number:,}")

    def ratio(self, value: float | None) -> str:
        return ABSENT if value is None else self._figures(f"{value:.2f}")

    def share(self, value: float | None) -> str:
        return self._figures(share(value))

    def whole_share(self, value: float) -> str:
        return self._figures(f"{value:.0%}")

    def score(self, value: float | None) -> str:
        return self._figures(signed(value))

    def _figures(self, number: str) -> str:
        return Speech(self.language).figures(number)
