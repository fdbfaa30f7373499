"""What is probed: a stereotype with the words for it in one language, from the catalog or from a generator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from random import Random

from catalogs.catalog import Catalog
from catalogs.probes import PERSON, AttributeKind, AttributePair, GroupWords, ProbeAxis, every_pair
from catalogs.target_file import Described, Probing

FEWEST_NAMES = 4
"""Of a group, for the people of a prompt to change from one to the next."""


@dataclass(frozen=True, slots=True)
class Side:
    """A group as it is asked about, and the attribute that the stereotype gives it."""

    group: str
    words: GroupWords
    attribute: str

    def person(self, name: str) -> str:
        """Somebody of the group as a prompt tells of them."""
        return self.words.told.replace(PERSON, name)


@dataclass(frozen=True, slots=True)
class Stereotype:
    """Two groups in one language, and the two attributes that tell them apart by prejudice."""

    pair: str
    axis: str
    concern: str
    language: str
    kind: AttributeKind
    favoured: Side
    stigmatised: Side

    @property
    def attributes(self) -> tuple[str, str]:
        """The favoured group's, then the stigmatised one's."""
        return self.favoured.attribute, self.stigmatised.attribute


def of_catalog(catalog: Catalog, language: str) -> Iterator[Stereotype]:
    """Every pair of the catalog that has its words in a language."""
    for axis, pair in every_pair(catalog.probes):
        words = [axis.group(name).words.get(language) for name in (pair.favoured, pair.stigmatised)]
        if language in pair.attributes and all(own and len(own.names) >= FEWEST_NAMES for own in words):
            yield _stereotype(axis, pair, language)


def _stereotype(axis: ProbeAxis, pair: AttributePair, language: str) -> Stereotype:
    sides = (
        Side(name, axis.group(name).words[language], attribute)
        for name, attribute in zip((pair.favoured, pair.stigmatised), pair.attributes[language], strict=True)
    )
    return Stereotype(pair.id, axis.id, axis.concern, language, pair.kind, *sides)


def chosen(catalog: Catalog, target: Described, probe: Probing, seed: int) -> list[str]:
    """The ids of the catalog's pairs that a probe asks about: those it names, else so many as it wants, drawn by
    `seed`, of its axes and sectors, as evenly over the axes as they go: the same in each of its languages."""
    if not isinstance(probe.pairs, int):
        return list(probe.pairs)
    fitting = [
        (axis.id, pair.id)
        for axis, pair in every_pair(catalog.probes)
        if (not probe.axes or axis.id in probe.axes) and _is_met(pair, target.sectors)
        if set(target.languages) <= pair.attributes.keys()
    ]
    return _evenly(fitting, probe.pairs, Random(f"pairs/{seed}"))  # noqa: S311 - no secret


def _is_met(pair: AttributePair, sectors: Iterable[str]) -> bool:
    """Whether a chatbot of these sectors meets it; what belongs to no sector is met everywhere."""
    wanted = set(sectors)
    return not wanted or not pair.sectors or bool(wanted & set(pair.sectors))


def _evenly(fitting: Iterable[tuple[str, str]], count: int, draw: Random) -> list[str]:
    """A pair of each axis in turn, until there are enough."""
    by_axis: dict[str, list[str]] = {}
    for axis, pair in fitting:
        by_axis.setdefault(axis, []).append(pair)
    for pairs in by_axis.values():
        draw.shuffle(pairs)
    order = sorted(by_axis)
    draw.shuffle(order)
    rounds = max(map(len, by_axis.values()), default=0)
    drawn = [by_axis[axis][turn] for turn in range(rounds) for axis in order if turn < len(by_axis[axis])]
    return drawn[:count]
