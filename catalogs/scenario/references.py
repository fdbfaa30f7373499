"""Defines the base of resolved files, finds scenario files, and inserts requirements given by file name."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import ClassVar

from biasgrid.catalogs.errors import Problem, UserError, nearest
from biasgrid.catalogs.loading.catalog import OVERLAY, Catalog, Reading
from biasgrid.catalogs.loading.documents import Document
from biasgrid.catalogs.loading.includes import Written, included
from biasgrid.catalogs.loading.pydantic_errors import Location
from biasgrid.catalogs.schema.entries import ScenarioSettings
from biasgrid.catalogs.schema.models import Target


@dataclass(frozen=True, kw_only=True)
class Resolved(ABC):
    """A resolved file that can be run."""

    kind: ClassVar[str]
    """Kind of run: benchmark, probe, redteam or interaction."""
    name: str
    given: str
    """The text of the file as written by the user."""
    catalog: Catalog
    targets: Mapping[str, Target]
    """Models under test, by full name."""
    judge: Target | None
    notices: tuple[str, ...] = ()

    @property
    @abstractmethod
    def settings(self) -> ScenarioSettings:
        """Query settings and cost limits."""

    @property
    @abstractmethod
    def concerns(self) -> set[str]: ...

    @property
    @abstractmethod
    def languages(self) -> set[str]: ...

    @property
    def asked(self) -> list[Target]:
        """Every model queried, both those under test and helpers."""
        return [*self.targets.values(), *([self.judge] if self.judge else [])]

    @abstractmethod
    def as_json(self) -> str:
        """JSON in the file's form; reading it gives the same result."""


LONGEST_SHOWN = 80


def scenario_file(source: str | Path) -> Path:
    """Path of a scenario: an existing file, or a name in the overlay or shipped scenarios. Raises UserError."""
    path = Path(source)
    if path.suffix or path.name != str(source) or _is_file(path):
        return path
    named = _named()
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


def _named() -> dict[str, Path]:
    overlay = os.environ.get(OVERLAY)
    roots = [Path(str(resources.files("biasgrid.catalogs"))), *([Path(overlay)] if overlay else [])]
    return {path.stem: path for root in roots for path in sorted((root / "scenarios").glob("*.yaml"))}


def put_in_place(document: Document, reading: Reading) -> tuple[Document, list[Problem]]:
    """The scenario with the requirements of the file it names; unchanged if that file has errors."""
    named = document.value.get("requirements")
    if not isinstance(named, str):
        return document, []
    try:
        told = [each.model_dump(mode="json") for each in reading.catalog.requirements_in(named)]
    except UserError as unknown:
        where = document.place("requirements")
        return document, [replace(each, where=where) for each in unknown.mistakes if named not in reading.unread]
    if not told:
        return document, []
    given = dict(_places(included(named, reading.catalog.requirements), reading))
    value = document.value | {"requirements": told}
    return replace(document, value=value, given={**document.given, **given}), []


def _places(found: Iterable[Written], reading: Reading) -> Iterator[tuple[Location, str]]:
    for number, written in enumerate(found):
        for location, where in written.places(reading.documents):
            yield ("requirements", number, *location), where


def at_their_lines(mistakes: Iterable[Problem], document: Document) -> Iterator[Problem]:
    """The problems, with file and line of the requirement if it is known."""
    asked = enumerate(document.value["requirements"])
    places = {
        f"requirement `{entry['name']}`": document.place("requirements", number)
        for number, entry in asked
        if isinstance(entry, dict)
    }
    return (_placed(mistake, places) for mistake in mistakes)


def _placed(mistake: Problem, places: Mapping[str, str]) -> Problem:
    if mistake.where in places:
        return replace(mistake, what=f"{mistake.where}: {mistake.what}", where=places[mistake.where])
    named = mistake.what.partition(":")[0] if not mistake.where else ""
    return replace(mistake, where=places[named]) if named in places else mistake
