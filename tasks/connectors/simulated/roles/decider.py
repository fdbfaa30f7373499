"""Decides about documents of an audit with known gaps between the groups of their identities."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from biasgrid.catalogs.audit.identities import GENDERS, Identities
from biasgrid.catalogs.audit.masking import Person
from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.respondents import Deciding, Respondent
from biasgrid.tasks.connectors.simulated.fault_injection import Chance
from biasgrid.tasks.connectors.simulated.repertoire import find_phrases

NUMBER: Final = r"(-?\d+(?:\.\d+)?)"
MIDDLE, WIDTH = 0.3, 0.4
"""Scores of documents as shares of the scale: from .3 to .7, so that gaps have room."""


@dataclass(frozen=True, slots=True)
class Question:
    """A decision that is asked for."""

    words: Identities
    scale: tuple[float, float] | None
    """Of a score; None for yes or no."""
    groups: frozenset[str]
    """Of the identity that the document shows."""
    names: frozenset[str]
    document: str
    """What does not depend on the identity."""


class DeciderRole:
    """Recogniser of one catalog's identities; reads them at the first question."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def reply(self, respondent: Respondent, text: str, seed: int | None) -> str | None:
        """The decision, or None where none is asked for."""
        asked = self._find(text)
        if asked is None or respondent.deciding is None:
            return None
        chance = Chance(respondent.id, respondent.seed, text, seed)
        deciding, phrases = respondent.deciding, find_phrases(asked.words.id.partition("_")[0])
        if chance.uniform("refused") < max(
            (deciding.refuses.get(group, 0.0) for group in asked.groups), default=0.0
        ):
            return chance.pick("refusal", phrases.refusals)
        quality = Chance(respondent.id, respondent.seed, asked.document, None).uniform("quality")
        gap = _gap(deciding, asked)
        if asked.scale:
            return _score(asked.scale, quality, gap, deciding, chance)
        return phrases.yes if _selects(deciding, quality, gap, chance) else phrases.no

    def _find(self, text: str) -> Question | None:
        for words in self._catalog.identities.values():
            scale = re.search(_scale_pattern(words), text)
            if scale or words.answers.yes_no in text:
                known = self._known[words.id]
                shown = {key for key in known if key in text}
                names = frozenset(key for key in shown if not any(key in other for other in shown - {key}))
                ends = (float(scale[1]), float(scale[2])) if scale else None
                groups = frozenset(group for name in names for group in known[name])
                return Question(words, ends, groups, names, _without_identity(text, words, names))
        return None

    @cached_property
    def _known(self) -> dict[str, dict[str, frozenset[str]]]:
        """By language, what shows a group, and which."""
        found: dict[str, dict[str, frozenset[str]]] = {}
        for words in self._catalog.identities.values():
            own = found.setdefault(words.id, {})
            for text, group in _signs(words):
                own[text] = own.get(text, frozenset()) | {group}
        return found


def _signs(words: Identities) -> Iterator[tuple[str, str]]:
    for name, group in words.groups.items():
        for person, _, _ in group.people:
            yield person, name
        for affiliation in group.affiliations:
            yield affiliation, name
        if group.gender:
            yield from (
                (words.lines["pronouns"].format(name=neutral, pronouns=words.pronouns[group.gender]), name)
                for neutral in words.neutral
            )


def _scale_pattern(words: Identities) -> str:
    return re.escape(words.answers.score).replace(r"\{low\}", NUMBER).replace(r"\{high\}", NUMBER)


def _gap(deciding: Deciding, asked: Question) -> float:
    groups = sum(deciding.gaps.get(group, 0.0) for group in asked.groups)
    return groups + sum(deciding.quirks.get(name, 0.0) for name in asked.names)


def _selects(deciding: Deciding, quality: float, gap: float, chance: Chance) -> bool:
    """Selected by the document's quality, the contrary by noise, then moved by the gap, in points of the rate."""
    noise, rate = deciding.noise, deciding.rate
    selects = (quality < rate) != (chance.uniform("noise") < noise)
    share = rate * (1 - noise) + (1 - rate) * noise
    moved = chance.uniform("gap") < abs(gap) / 100 / max(share if gap < 0 else 1 - share, 1e-9)
    return selects != (moved and selects == (gap < 0))


def _score(scale: tuple[float, float], quality: float, gap: float, deciding: Deciding, chance: Chance) -> str:
    low, high = scale
    spread = (chance.uniform("noise") - 0.5) * deciding.noise * (high - low)
    value = low + (high - low) * (MIDDLE + WIDTH * (1 - quality)) + spread + gap
    return f"{min(max(value, low), high):.1f}".removesuffix(".0")


def _without_identity(text: str, words: Identities, shown: frozenset[str]) -> str:
    """The document as it is for everybody."""
    people = [sign for sign in shown if " " in sign]
    neutral = [name for name in words.neutral if name in text]
    for name in sorted({*people, *neutral}, key=len, reverse=True):
        person = Person(name, "male")
        for part in (name, person.handle, person.last, person.first):
            if len(part) > 2:
                text = re.sub(rf"(?i)(?<!\w){re.escape(part)}(?!\w)", "", text)
    pronouns = [words.pronouns[gender] for gender in GENDERS]
    forms = [form for own in words.forms for form in (own.female, *own.also, own.male)]
    listed = "|".join(map(re.escape, sorted([*pronouns, *forms], key=len, reverse=True)))
    return re.sub(rf"(?i)(?<!\w)(?:{listed})(?!\w)", "", text)
