"""What is probed: a stereotype with the words for it in one language, from the catalog or from a generator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.probes import PERSON, AttributeKind, AttributePair, GroupWords, ProbeAxis, every_pair
from biasgrid.catalogs.schema.target_file import Described, Probing, drawn_pairs

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
    why: str = ""
    """Where a chatbot meets it, as the generator has it that chose it; empty where nobody but the seed did."""

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
    favoured, stigmatised = (
        Side(name, axis.group(name).words[language], attribute)
        for name, attribute in zip((pair.favoured, pair.stigmatised), pair.attributes[language], strict=True)
    )
    return Stereotype(pair.id, axis.id, axis.concern, language, pair.kind, favoured, stigmatised)


def chosen(catalog: Catalog, target: Described, probe: Probing, seed: int) -> list[str]:
    """The ids of the catalog's pairs that a probe asks about, the same in each of its languages."""
    named = {"of_axes": probe.axes, "sectors": target.sectors, "languages": target.languages}
    return [pair.id for _, pair in drawn_pairs(catalog.probes, probe.pairs, seed, **named)]
