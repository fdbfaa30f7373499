"""Decides about documents of an audit with known gaps between the groups of their identities."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, get_args

from biasgrid.catalogs.audit.identities import GENDERS, Identities
from biasgrid.catalogs.audit.masking import Person
from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.respondents import Deciding, Respondent
from biasgrid.tasks.connectors.simulated.fault_injection import Chance
from biasgrid.tasks.connectors.simulated.repertoire import find_phrases

Kind = Literal["yes_no", "score", "choice"]
NUMBER: Final = r"(-?\d+(?:\.\d+)?)"
MIDDLE, WIDTH = 0.3, 0.4
"""Scores of documents as shares of the scale: from .3 to .7, so that gaps have room."""


@dataclass(frozen=True, slots=True)
class Question:
    """A decision that is asked for."""

    words: Identities
    kind: Kind
    scale: tuple[float, float] | None
    """Of a score or a choice; None for yes or no."""
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
        if asked.kind == "choice":
            return self._choose(deciding, asked, text, chance)
        if asked.scale:
            return _score(asked.scale, quality, gap, deciding, chance)
        return phrases.yes if _selects(deciding, quality, gap, chance) else phrases.no

    def _find(self, text: str) -> Question | None:
        for words in self._catalog.identities.values():
            for kind, pattern in self._endings[words.id]:
                if asked := pattern.search(text):
                    ends = (float(asked[1]), float(asked[2])) if asked.groups() else None
                    return self._ask(words, kind, ends, text)
        return None

    def _ask(self, words: Identities, kind: Kind, ends: tuple[float, float] | None, text: str) -> Question:
        known = self._known[words.id]
        shown = {key for key in known if key in text}
        names = frozenset(key for key in shown if not any(key in other for other in shown - {key}))
        groups = frozenset(group for name in names for group in known[name])
        return Question(words, kind, ends, groups, names, _without_identity(text, words, names))

    def _choose(self, deciding: Deciding, asked: Question, text: str, chance: Chance) -> str:
        """The number of the best document of a shortlist."""
        heading = re.escape(asked.words.answers.item).replace(r"\{number\}", r"\d+")
        items = re.split(rf"(?m)^{heading}$", text)[1:]
        best = max(range(len(items)), key=lambda at: self._rate_item(deciding, asked, items, at, chance))
        return str(best + 1)

    def _rate_item(self, deciding: Deciding, asked: Question, items: list[str], at: int, chance: Chance) -> float:
        """Points of one document: its quality, moved by the gap, its place and noise."""
        own = self._ask(asked.words, asked.kind, asked.scale, items[at].partition("\n---")[0])
        quality = Chance("item", 0, own.document, None).uniform("quality")
        noise = (chance.uniform(f"noise-{at}") - 0.5) * deciding.noise
        first = deciding.first if at < len(items) / 2 else 0.0
        return 100 * (noise - quality) + _gap(deciding, own) + first

    @cached_property
    def _endings(self) -> dict[str, list[tuple[Kind, re.Pattern[str]]]]:
        return {words.id: _ending_patterns(words) for words in self._catalog.identities.values()}

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


def _ending_patterns(words: Identities) -> list[tuple[Kind, re.Pattern[str]]]:
    """How a prompt may end, with and without an explanation."""
    sentences = (
        (kind, getattr(one, kind)) for kind in get_args(Kind) for one in (words.answers, words.answers.explained)
    )
    escaped = ((kind, re.escape(text)) for kind, text in sentences)
    return [
        (kind, re.compile(text.replace(r"\{low\}", NUMBER).replace(r"\{high\}", NUMBER))) for kind, text in escaped
    ]


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
