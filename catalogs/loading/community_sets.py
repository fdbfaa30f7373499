"""Sets of communities that take from other sets: those of another set and more, or those of two sets at once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import product

from biasgrid.catalogs.errors import Problem, nearest
from biasgrid.catalogs.loading.documents import Document
from biasgrid.catalogs.loading.reader import SHIPPED
from biasgrid.catalogs.schema.entries import LONGEST_ID, Community, CommunitySet, Intersection

PART = re.compile(r"\{([12]):([a-z_]+)\}")
"""Parts may stand within parts: `{2:adjective_{1:agreement}s}` takes the gender that the first set's noun has."""


def completed(
    sets: Mapping[str, CommunitySet], documents: Mapping[tuple[str, str], Document]
) -> tuple[dict[str, CommunitySet], list[Problem]]:
    """The sets with all their communities, and every mistake that keeps one of them from it."""
    read = [documents["communities", name] for name in sets]
    if not all(document.name.startswith(SHIPPED) for document in read):
        return _completed(sets, documents)
    key = tuple((document.name, document.text) for document in read)
    if key not in _COMPLETED:
        _COMPLETED[key] = _completed(sets, documents)
    return _COMPLETED[key]


_COMPLETED: dict[tuple[tuple[str, str], ...], tuple[dict[str, CommunitySet], list[Problem]]] = {}
"""What shipped files alone hold, by their names and texts: nobody changes it."""


def _completed(
    sets: Mapping[str, CommunitySet], documents: Mapping[tuple[str, str], Document]
) -> tuple[dict[str, CommunitySet], list[Problem]]:
    filled: dict[str, CommunitySet] = {}
    mistakes: list[Problem] = []
    for name, found in sets.items():
        wrong = list(_mistakes(found, sets, documents["communities", name]))
        mistakes += wrong
        filled[name] = found if wrong else _filled(found, sets)
    return filled, mistakes


def _filled(found: CommunitySet, sets: Mapping[str, CommunitySet]) -> CommunitySet:
    included = {community.id: community for name in found.includes for community in sets[name].communities}
    composed = _composed(found.intersection, sets) if found.intersection else ()
    return found.model_copy(update={"communities": (*included.values(), *found.communities, *composed)})


def _composed(intersection: Intersection, sets: Mapping[str, CommunitySet]) -> tuple[Community, ...]:
    first, second = (sets[name].communities for name in intersection.of)
    return tuple(_community(one, other, intersection) for one, other in product(first, second))


def _community(one: Community, other: Community, intersection: Intersection) -> Community:
    forms = {
        language: {name: _text(text, one.forms[language], other.forms[language]) for name, text in texts.items()}
        for language, texts in intersection.forms.items()
    }
    return Community(id=f"{one.id}+{other.id}", forms=forms)


def _text(text: str, one: Mapping[str, str], other: Mapping[str, str]) -> str:
    while PART.search(text):
        text = PART.sub(lambda part: (one if part[1] == "1" else other)[part[2]], text)
    return text


def _mistakes(found: CommunitySet, sets: Mapping[str, CommunitySet], document: Document) -> Iterator[Problem]:
    of = found.intersection.of if found.intersection else ()
    taken = [("includes", name) for name in found.includes] + [("intersection.of", name) for name in of]
    strange = [(key, name) for key, name in taken if name not in sets or not sets[name].lists]
    listing = [name for name, other in sets.items() if other.lists]
    for key, name in strange:
        where = document.place(*key.split("."))
        yield Problem(f"`{name}` is no set that lists its communities", where, nearest(name, listing))
    if found.intersection and not strange:
        yield from _uncomposed(found.intersection, sets, document)


def _uncomposed(
    intersection: Intersection, sets: Mapping[str, CommunitySet], document: Document
) -> Iterator[Problem]:
    longest = [max(len(community.id) for community in sets[name].communities) for name in intersection.of]
    if sum(longest) >= LONGEST_ID:
        what = f"composes ids of {sum(longest) + 1} characters, more than {LONGEST_ID}"
        yield Problem(what, document.place("intersection", "of"), "shorten those of the two sets")
    for language, texts in intersection.forms.items():
        for form, text in texts.items():
            where = document.place("intersection", "forms", language, form)
            pairs = product(*(sets[name].communities for name in intersection.of))
            lacking = (_lacking(text, one, other, language, where) for one, other in pairs)
            yield from dict.fromkeys(filter(None, lacking))


def _lacking(text: str, one: Community, other: Community, language: str, where: str) -> Problem | None:
    """What keeps a form from being composed for a pair of communities."""
    while part := PART.search(text):
        community = one if part[1] == "1" else other
        spoken = community.forms.get(language, {})
        if part[2] not in spoken:
            what = f"`{part[0]}`: community `{community.id}` has no form `{part[2]}` in `{language}`"
            return Problem(what, where, nearest(part[2], spoken))
        if re.search(r"[{}]", spoken[part[2]]):
            return Problem(
                f"`{part[0]}`: the form of community `{community.id}` holds a brace", where, "remove it"
            )
        text = text.replace(part[0], spoken[part[2]])
    if re.search(r"[{}]", text):
        return Problem(
            f"`{text}` holds a brace that composes nothing", where, "write `{1:plural}` or `{2:plural}`"
        )
    return None
