"""Finds scenario files, and inserts requirements given by file name."""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from importlib import resources
from pathlib import Path

from biasgrid.catalogs.errors import Problem, UserError, nearest
from biasgrid.catalogs.loading.catalog import OVERLAY, Reading
from biasgrid.catalogs.loading.documents import Document
from biasgrid.catalogs.loading.includes import included_requirements

LONGEST_SHOWN = 80


def scenario_file(source: str | Path) -> Path:
    """Path of a scenario: an existing file, or a name in the overlay or shipped scenarios. Raises UserError."""
    path = Path(source)
    if path.suffix or path.name != str(source) or _is_file(path):
        return path
    overlay = os.environ.get(OVERLAY)
    roots = [Path(str(resources.files("biasgrid.catalogs"))), *([Path(overlay)] if overlay else [])]
    named = {path.stem: path for root in roots for path in sorted((root / "scenarios").glob("*.yaml"))}
    if path.name not in named:
        remedy = nearest(path.name, named) or "name a scenario file"
        shown = path.name if len(path.name) <= LONGEST_SHOWN else f"{ascii(path.name[:LONGEST_SHOWN])[1:-1]}…"
        raise UserError(Problem(f"scenario `{shown}` is neither a file nor a shipped one", remedy=remedy))
    return named[path.name]


def _is_file(path: Path) -> bool:
    """Whether a path is a file; a directory does not hide a scenario of the same name."""
    try:
        return path.exists() and not path.is_dir()
    except OSError:  # name too long for the file system
        return False


def insert_requirements(document: Document, reading: Reading) -> tuple[Document, list[Problem]]:
    """The scenario with the requirements of the file it names; unchanged if that file has errors."""
    named = document.value.get("requirements")
    if not isinstance(named, str):
        return document, []
    try:
        requirements = [each.model_dump(mode="json") for each in reading.catalog.requirements_in(named)]
    except UserError as unknown:
        where = document.place("requirements")
        return document, [replace(each, where=where) for each in unknown.mistakes if named not in reading.unread]
    if not requirements:
        return document, []
    given = {
        ("requirements", number, *location): where
        for number, written in enumerate(included_requirements(named, reading.catalog.requirements))
        for location, where in written.places(reading.documents)
    }
    value = document.value | {"requirements": requirements}
    return replace(document, value=value, given={**document.given, **given}), []


def at_their_lines(mistakes: Iterable[Problem], document: Document) -> Iterator[Problem]:
    """The problems, with file and line of the requirement if it is known."""
    asked = enumerate(document.value["requirements"])
    places = {
        f"requirement `{entry['name']}`": document.place("requirements", number)
        for number, entry in asked
        if isinstance(entry, dict)
    }
    return (_add_place(mistake, places) for mistake in mistakes)


def _add_place(mistake: Problem, places: Mapping[str, str]) -> Problem:
    if mistake.where in places:
        return replace(mistake, what=f"{mistake.where}: {mistake.what}", where=places[mistake.where])
    named = mistake.what.partition(":")[0] if not mistake.where else ""
    return replace(mistake, where=places[named]) if named in places else mistake
