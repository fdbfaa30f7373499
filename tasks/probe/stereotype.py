"""The stereotypes that are probed, with their words in one language, from the catalog or a generator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.probes import PERSON, AttributeKind, AttributePair, GroupWords, ProbeAxis, every_pair
from biasgrid.catalogs.schema.target_file import Described, Probing, drawn_pairs

FEWEST_NAMES = 4
"""Names per group, so that the people of a prompt vary."""


@dataclass(frozen=True, slots=True)
class Side:
    """A group with its words, and the attribute that the stereotype assigns to it, if any."""

    group: str
    words: GroupWords
    attribute: str

    def person(self, name: str) -> str:
        """A person of the group as a prompt describes them."""
        return self.words.introduction.replace(PERSON, name)


@dataclass(frozen=True, slots=True)
class Stereotype:
    """Two groups in one language with the two attributes that prejudice assigns to them, and further groups with
    which they are compared."""

    pair: str
    axis: str
    concern: str
    language: str
    kind: AttributeKind
    favoured: Side
    stigmatised: Side
    why: str = ""
    """Context in which a chatbot meets it, given by the generator; empty if drawn by the seed."""
    others: tuple[Side, ...] = ()
    order: tuple[str, ...] = ()
    """All groups as the file lists them; empty where there are two."""

    @property
    def sides(self) -> tuple[Side, ...]:
        return (self.favoured, self.stigmatised, *self.others)

    @property
    def signal(self) -> Literal["name", "stated"]:
        """How a prompt shows who belongs to which group: by the names alone, or in words next to them."""
        stated = any(side.words.introduction != PERSON for side in self.sides)
        return "stated" if stated else "name"

    @property
    def attributes(self) -> tuple[str, str]:
        """The favoured group's attribute, then the stigmatised group's."""
        return self.favoured.attribute, self.stigmatised.attribute


def of_catalog(catalog: Catalog, language: str) -> Iterator[Stereotype]:
    """Every pair of the catalog with words in a language."""
    for axis, pair in every_pair(catalog.probes):
        words = [axis.group(name).words.get(language) for name in (pair.favoured, pair.stigmatised)]
        if language in pair.attributes and all(own and len(own.names) >= FEWEST_NAMES for own in words):
            yield _stereotype(axis, pair, language)


def _stereotype(axis: ProbeAxis, pair: AttributePair, language: str) -> Stereotype:
    favoured, stigmatised = (
        Side(name, axis.group(name).words[language], attribute)
        for name, attribute in zip((pair.favoured, pair.stigmatised), pair.attributes[language], strict=True)
    )
    return Stereotype(pair.id, axis.id, axis.concern, language, pair.kind, favoured, stigmatised)


def with_groups(stereotype: Stereotype, catalog: Catalog, groups: Sequence[str]) -> Stereotype:
    """The stereotype among all of these groups of its axis, if any are named."""
    axis, pair = catalog.probes[stereotype.axis], (stereotype.favoured.group, stereotype.stigmatised.group)
    others = (Side(name, axis.group(name).words[stereotype.language], "") for name in groups if name not in pair)
    return replace(stereotype, others=tuple(others), order=tuple(groups))


def draw_pairs(catalog: Catalog, target: Described, probe: Probing, seed: int) -> list[str]:
    """Ids of the catalog's pairs that a probe uses, the same in all its languages."""
    named = {"of_axes": probe.axes, "sectors": target.sectors, "languages": target.languages}
    return [pair.id for _, pair in drawn_pairs(catalog.probes, probe.pairs, seed, **named)]
