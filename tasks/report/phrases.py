"""The sentences of answers, of a kind of run in a language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from biasgrid.tasks.report.checks import Check
from biasgrid.tasks.report.figures import format_measure
from biasgrid.tasks.report.languages import LANGUAGES, format_figures, words

NAMED: Final = 3
"""Models, requirements and groups that a sentence names."""


@dataclass(frozen=True, slots=True)
class Phrases:
    """The sentences about a kind of run in a language."""

    kind: str
    language: str = LANGUAGES[0]

    def say(self, key: str, **given: object) -> str:
        return words("answer", self.language)[key].format(**given)

    def count(self, key: str, count: int, **given: object) -> str:
        """The text for one or for several."""
        return self.say(f"{key}.{'one' if count == 1 else 'other'}", n=self.figures(f"{count:,}"), **given)

    def own(self, key: str, count: int | None = None, **given: object) -> str:
        """A text of the kind of run."""
        key = f"{self.kind}.{key}"
        return self.say(key, **given) if count is None else self.count(key, count, **given)

    def figures(self, number: str) -> str:
        return format_figures(number, self.language)

    def measure(self, check: Check) -> str:
        return self.figures(format_measure(check.value, check.unit))

    def interval(self, check: Check) -> str:
        low, high = (self.figures(format_measure(end, check.unit)) for end in (check.low, check.high))
        return self.say("to", low=low.removesuffix(self.figures(" points")), high=high)

    def list_names(self, names: Sequence[str]) -> str:
        """Some names, and how many more."""
        more = len(names) - NAMED
        if more > 0:
            return self.say("more", names=", ".join(names[:NAMED]), n=more)
        return self.join_names(names)

    def join_names(self, names: Sequence[str]) -> str:
        if len(names) == 1:
            return names[0]
        return self.say("and", first=", ".join(names[:-1]), last=names[-1])


def caution(kind: str, language: str = LANGUAGES[0]) -> str:
    """What every surface shows besides; empty where there is nothing."""
    return words("answer", language).get(f"{kind}.caution", "")
