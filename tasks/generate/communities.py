"""The communities of a requirement, by literal or catalog, with the forms that templates use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from biasgrid.catalogs.coverage import default_set
from biasgrid.catalogs.errors import Problem, UserError, nearest
from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.entries import Community, CommunitySet
from biasgrid.catalogs.schema.requirements import Requirement


@dataclass(frozen=True, slots=True)
class CastCommunity:
    """A community of a requirement in one language; `literal` is its name in the scenario, if given."""

    id: str
    literal: str | None
    forms: Mapping[str, str]

    def form(self, name: str | None) -> str | None:
        """The text for `{MARKUP}` (the literal) or `{MARKUP:form}`; a capital in the name capitalises it."""
        if name is None:
            return self.literal
        text = self.forms.get(name.lower())
        return text[:1].upper() + text[1:] if text and name[:1].isupper() else text


def cast_communities(
    requirement: Requirement, language: str, markup: str, catalog: Catalog
) -> tuple[CastCommunity, ...]:
    """The communities of a requirement, in file order. Raises UserError for an unknown set.

    Literals match the catalog's communities by id or form; an unmatched literal is its own id."""
    named = requirement.communities
    if isinstance(named, str):
        return _from_set(_find_set(named, catalog), language)
    if named is not None and language in named:
        return _from_literals(named[language], language, find_sets(markup, catalog))
    found = default_set(markup, catalog)
    return _from_set(found, language) if found else ()


def _find_set(name: str, catalog: Catalog) -> CommunitySet:
    found = catalog.communities.get(name)
    if found is None:
        raise UserError(Problem(f"community set `{name}` is unknown", remedy=nearest(name, catalog.communities)))
    return found


def find_sets(markup: str, catalog: Catalog) -> list[CommunitySet]:
    return [found for found in catalog.communities.values() if found.markup == markup]


def _from_set(found: CommunitySet, language: str) -> tuple[CastCommunity, ...]:
    return tuple(
        CastCommunity(community.id, None, community.forms.get(language, {})) for community in found.communities
    )


def _from_literals(
    literals: tuple[str, ...], language: str, sets: list[CommunitySet]
) -> tuple[CastCommunity, ...]:
    known = _index_names([community for found in sets for community in found.communities], language)
    matched = [known.get(literal.strip().lower()) for literal in literals]
    ids = [community.id if community else literal for community, literal in zip(matched, literals, strict=True)]
    counts = Counter(ids)
    return tuple(
        # two literals of one community are compared with each other, so each keeps its own name
        CastCommunity(
            name if counts[name] == 1 else literal, literal, community.forms.get(language, {}) if community else {}
        )
        for name, literal, community in zip(ids, literals, matched, strict=True)
    )


def _index_names(communities: list[Community], language: str) -> dict[str, Community]:
    """Communities by id and by unambiguous name."""
    owners: dict[str, dict[str, Community]] = {}
    for community in communities:
        for name in community.names(language):
            owners.setdefault(name.lower(), {})[community.id] = community
    known = {name: next(iter(owner.values())) for name, owner in owners.items() if len(owner) == 1}
    return known | {community.id: community for community in communities}


def list_names(found: CommunitySet, language: str) -> list[str]:
    """Names of a set's communities in a language."""
    return [name for community in found.communities for name in (community.id, *community.names(language))]
