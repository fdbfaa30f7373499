"""Communities that a requirement lacks, or that no catalog knows: told once, not once per template."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import combinations

from biasgrid.catalogs.errors import Problem, nearest
from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.scenario.wording import SLOT, slots
from biasgrid.catalogs.schema.entries import Requirement
from biasgrid.tasks.generate.communities import CastCommunity, names_in, sets_of


def absent(
    requirement: Requirement,
    language: str,
    casts: Mapping[str, tuple[CastCommunity, ...]],
    texts: Collection[str],
    catalog: Catalog,
) -> list[Problem]:
    """One mistake per markup without communities and per community of which forms are asked that nobody knows."""
    where = f"requirement `{requirement.name}`"
    found: list[Problem] = []
    for markup, communities in casts.items():
        slots, forms = _asking(markup, texts)
        if not communities:
            what = f"names no communities in `{language}`, and {_some(slots, f'for `{{{markup}}}`')}"
            found.append(Problem(what, where, "list them under `communities`"))
        strangers = [community for community in communities if forms and not community.forms]
        if strangers and isinstance(requirement.communities, str):
            what = f"set `{requirement.communities}` has no forms of `{strangers[0].id}` in `{language}`"
            found.append(Problem(what, where, "add them, or leave the language out of the requirement"))
            continue
        found += [_unknown(stranger, markup, forms, language, where, catalog) for stranger in strangers]
        found += [_same(one, other, where) for one, other in _twice(communities)] if forms else []
    return found


def _twice(communities: tuple[CastCommunity, ...]) -> list[tuple[CastCommunity, CastCommunity]]:
    """Pairs of words that mean one community of the catalog: by its forms it would be compared with itself."""
    return [
        (one, other)
        for one, other in combinations(communities, 2)
        if one.literal and other.literal and one.forms and one.forms == other.forms
    ]


def _same(one: CastCommunity, other: CastCommunity, where: str) -> Problem:
    what = f"`{one.literal}` and `{other.literal}` are the same community"
    return Problem(what, where, "keep one of them under `communities`")


def too_few(
    requirement: Requirement,
    language: str,
    casts: Mapping[str, tuple[CastCommunity, ...]],
    texts: Collection[str],
) -> list[Problem]:
    """A mistake where every template compares more communities than the requirement names: nothing is asked."""
    needed = [
        max((slot_count(text, markup) - len(cast) for markup, cast in casts.items()), default=0) for text in texts
    ]
    if not needed or min(needed) <= 0:
        return []
    named = sum(map(len, casts.values()))
    what = f"names too few communities in `{language}` ({named}): each of its templates compares more"
    return [Problem(what, f"requirement `{requirement.name}`", "name at least one more under `communities`")]


def slot_count(text: str, markup: str) -> int:
    """How many distinct communities of a markup a text asks for."""
    return sum(slot.markup == markup for slot in slots(text))


def _asking(markup: str, texts: Collection[str]) -> tuple[int, int]:
    """How many texts hold the markup, and how many ask for a form of it."""
    held = [[match["form"] for match in SLOT.finditer(text) if match["markup"] == markup] for text in texts]
    return sum(map(bool, held)), sum(any(forms) for forms in held)


def _unknown(
    stranger: CastCommunity, markup: str, forms: int, language: str, where: str, catalog: Catalog
) -> Problem:
    name = stranger.literal or stranger.id
    known = [name for found in sets_of(markup, catalog) for name in names_in(found, language)]
    what = f"community `{name}` is not in the catalog in `{language}`, and {_some(forms, 'for its forms')}"
    advice = nearest(name, known) or "name one that the catalog has"
    return Problem(what, where, f"{advice}; or name the library that it is for with `--library`")


def _some(count: int, what: str) -> str:
    return f"{count} of the templates {'asks' if count == 1 else 'ask'} {what}"
