"""Resolves requirement files that include others, and community sets that reuse communities of others."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from biasgrid.catalogs.errors import Problem, nearest, place, position
from biasgrid.catalogs.loading.documents import Document
from biasgrid.catalogs.loading.pydantic_errors import Location
from biasgrid.catalogs.loading.reader import SHIPPED
from biasgrid.catalogs.schema.base import LONGEST_ID
from biasgrid.catalogs.schema.entries import Community, CommunitySet, Intersection
from biasgrid.catalogs.schema.requirements import Requirement, RequirementFile

Files = Mapping[str, RequirementFile]
Documents = Mapping[tuple[str, str], Document]
"""By folder and id."""
FOLDER = "requirements"


@dataclass(frozen=True, slots=True)
class Written:
    """A requirement and its source: the file's id and the index in that file."""

    requirement: Requirement
    file: str
    number: int

    def place(self, documents: Documents, *location: str | int) -> str:
        return documents[FOLDER, self.file].place(FOLDER, self.number, *location)

    def places(self, documents: Documents) -> Iterator[tuple[Location, str]]:
        """`file:line` of the requirement and of all its values, by path relative to the requirement."""
        document = documents[FOLDER, self.file]
        at = (FOLDER, self.number)
        for location, line in document.lines.items():
            if location[:2] == at:
                yield location[2:], place(document.name, line)


def included_requirements(name: str, files: Files) -> tuple[Written, ...]:
    """Requirements of a file, then those of its included files, each file once."""
    return tuple(
        Written(requirement, file.id, number)
        for file in _files(name, files, set())
        for number, requirement in enumerate(file.requirements)
    )


def check_includes(files: Files, documents: Documents, unread: Collection[str]) -> Iterator[Problem]:
    """Errors of missing includes, duplicate requirement names and cycles; files in `unread` are skipped."""
    for file in files.values():
        document = documents[FOLDER, file.id]
        for number, other in enumerate(file.includes):
            if other not in files and other not in unread:
                where = document.place("includes", number)
                yield Problem(f"requirements `{other}` are unknown", where, nearest(other, files))
        yield from _shared_names(file.id, files, documents)
    yield from _circles(files, documents)


def unread_names(mistakes: Iterable[Problem]) -> frozenset[str]:
    """Names and declared ids of files of requirements and languages that contain errors."""
    paths = {Path(position(mistake)[0]) for mistake in mistakes}
    wrong = [path for path in paths if {FOLDER, "languages"} & set(path.parts[:-1])]
    return frozenset(name for path in wrong for name in (path.stem, *_own_ids(path)))


def _own_ids(path: Path) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return re.findall(r"^id:\s*[\"']?([^\s\"'#]+)", text, re.MULTILINE)


def _files(name: str, files: Files, seen: set[str]) -> Iterator[RequirementFile]:
    if name in seen or name not in files:
        return
    seen.add(name)
    yield files[name]
    for other in files[name].includes:
        yield from _files(other, files, seen)


def _shared_names(name: str, files: Files, documents: Documents) -> Iterator[Problem]:
    """Duplicate requirement names within a file or between it and an included file."""
    first: dict[str, Written] = {}
    for written in included_requirements(name, files):
        shared = written.requirement.name
        other = first.setdefault(shared, written)
        if other is written or (other.file != name and written in included_requirements(other.file, files)):
            continue
        remedy = "give each requirement its own name"
        if written.file == name:
            yield Problem(f"requirement `{shared}` stands twice", written.place(documents, "name"), remedy)
        else:
            what = f"requirement `{shared}` stands in `{written.file}`, which `{name}` includes, too"
            yield Problem(what, other.place(documents, "name"), remedy)


def _circles(files: Files, documents: Documents) -> Iterator[Problem]:
    """Cyclic includes, each reported once, in a file of the overlay if one is part of the cycle."""
    reported: set[frozenset[str]] = set()
    for name in sorted(files, key=lambda name: (documents[FOLDER, name].name.startswith("catalogs/"), name)):
        way = _way_back(name, files)
        if not way or frozenset(way) in reported:
            continue
        reported.add(frozenset(way))
        where = documents[FOLDER, name].place("includes", files[name].includes.index(way[1]))
        remedy = "take it out of `includes`" if len(way) == 2 else "take one of these `includes` out"
        yield Problem(_round(way, files), where, remedy)


def _way_back(name: str, files: Files) -> tuple[str, ...]:
    """Shortest cycle of includes from a file to itself, both ends included; empty if there is none."""
    ways: list[tuple[str, ...]] = [(name,)]
    seen: set[str] = set()
    for way in ways:
        for other in files[way[-1]].includes:
            if other == name:
                return (*way, name)
            if other in files and other not in seen:
                seen.add(other)
                ways.append((*way, other))
    return ()


def _round(way: tuple[str, ...], files: Files) -> str:
    name, *others = way
    back = ", which includes ".join(f"`{other}`" for other in others)
    circle = f"requirements `{name}` include " + ("themselves" if others == [name] else back)
    return circle if included_requirements(name, files) else f"{circle}, and hold no requirements at all"


PART = re.compile(r"\{([12]):([a-z_]+)\}")
"""Parts can be nested: `{2:adjective_{1:agreement}s}` takes the gender of the first set's noun."""


def complete_sets(
    sets: Mapping[str, CommunitySet], documents: Mapping[tuple[str, str], Document]
) -> tuple[dict[str, CommunitySet], list[Problem]]:
    """Sets with all their communities, and every error that prevents completing one of them."""
    read = [documents["communities", name] for name in sets]
    if not all(document.name.startswith(SHIPPED) for document in read):
        return _complete(sets, documents)
    key = tuple((document.name, document.text) for document in read)
    if key not in _COMPLETED:
        _COMPLETED[key] = _complete(sets, documents)
    return _COMPLETED[key]


_COMPLETED: dict[tuple[tuple[str, str], ...], tuple[dict[str, CommunitySet], list[Problem]]] = {}
"""Cache of results for shipped files only, by their names and texts; read-only."""


def _complete(
    sets: Mapping[str, CommunitySet], documents: Mapping[tuple[str, str], Document]
) -> tuple[dict[str, CommunitySet], list[Problem]]:
    filled: dict[str, CommunitySet] = {}
    mistakes: list[Problem] = []
    for name, found in sets.items():
        wrong = list(_mistakes(found, sets, documents["communities", name]))
        mistakes += wrong
        filled[name] = found if wrong else _with_communities(found, sets)
    return filled, mistakes


def _with_communities(found: CommunitySet, sets: Mapping[str, CommunitySet]) -> CommunitySet:
    included = {community.id: community for name in found.includes for community in sets[name].communities}
    composed = _compose(found.intersection, sets) if found.intersection else ()
    return found.model_copy(update={"communities": (*included.values(), *found.communities, *composed)})


def _compose(intersection: Intersection, sets: Mapping[str, CommunitySet]) -> tuple[Community, ...]:
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
        yield from _composition_errors(found.intersection, sets, document)


def _composition_errors(
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
            lacking = (_missing_form(text, one, other, language, where) for one, other in pairs)
            yield from dict.fromkeys(filter(None, lacking))


def _missing_form(text: str, one: Community, other: Community, language: str, where: str) -> Problem | None:
    """Errors that prevent composing a form for a pair of communities."""
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
