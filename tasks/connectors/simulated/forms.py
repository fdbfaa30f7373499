"""The words by which the catalog knows communities, and which community a slot's words mean."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.entries import Community


@dataclass(frozen=True, slots=True)
class Filled:
    """What a slot holds: the text as sent and, where the catalog knows it, the community's id."""

    literal: str
    community: str | None = None
    names: tuple[str, ...] = ()
    """Every name of the community, its id first: what a respondent's rates may be keyed by."""


@dataclass(frozen=True)
class Forms:
    """A markup's communities by every form that they have in one language, lower case."""

    known: Mapping[str, tuple[Community, ...]]

    @cached_property
    def pattern(self) -> str:
        """Matches any known form, the longest first; nothing where none is known."""
        longest_first = sorted(self.known, key=lambda form: (-len(form), form))
        return f"(?i:{'|'.join(map(re.escape, longest_first))})" if longest_first else r"(?!)"

    def same(self, literals: Iterable[str]) -> Filled | None:
        """The community that all literals are forms of; None where they are not of one. Words that the
        catalog does not know are a community of their own."""
        first, *others = dict.fromkeys(literals)
        for community in self.known.get(first.lower(), ()):
            if all(community in self.known.get(other.lower(), ()) for other in others):
                return Filled(first, community.id, names_of(community))
        return Filled(first) if all(other.lower() == first.lower() for other in others) else None


class KnownForms:
    """The forms of every markup and language of a catalog."""

    def __init__(self, catalog: Catalog) -> None:
        self._sets = tuple(catalog.communities.values())
        self._found: dict[tuple[str, str], Forms] = {}

    def of(self, markup: str, language: str) -> Forms:
        if (markup, language) not in self._found:
            self._found[markup, language] = self._read(markup, language)
        return self._found[markup, language]

    def _read(self, markup: str, language: str) -> Forms:
        known: dict[str, list[Community]] = defaultdict(list)
        for community in self._communities(markup):
            for form in dict.fromkeys(name.lower() for name in community.names(language)):
                known[form].append(community)
        return Forms({form: tuple(communities) for form, communities in known.items()})

    def _communities(self, markup: str) -> Iterator[Community]:
        for found in self._sets:
            if found.markup == markup:
                yield from found.communities


def names_of(community: Community) -> tuple[str, ...]:
    """The id and every name in every language."""
    literals = [name for language in community.forms for name in community.names(language)]
    return tuple(dict.fromkeys([community.id, *literals]))
