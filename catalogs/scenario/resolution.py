"""Resolves user files: reads one, applies options, checks its names, and collects all errors."""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from biasgrid.catalogs.errors import Problem, UserError, nearest, position
from biasgrid.catalogs.loading.catalog import OVERLAY, Catalog, Reading
from biasgrid.catalogs.loading.documents import Document, Model, parse_document, read_document, validate
from biasgrid.catalogs.loading.pydantic_errors import Location
from biasgrid.catalogs.schema.base import LANGUAGE
from biasgrid.catalogs.schema.models import Target
from biasgrid.catalogs.schema.requirements import ScenarioSettings
from biasgrid.catalogs.schema.target_file import InteractionFile, TargetFile

Source = Path | str | Mapping[str, Any]
Given = Mapping[tuple[str, str], tuple[str, Any]]
"""By section and key: option name and value that replace the file's own."""


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


@dataclass(frozen=True, kw_only=True)
class ResolvedFile(Resolved):
    """A runnable file that states under `asking` how models are queried."""

    file: TargetFile | InteractionFile

    @property
    def settings(self) -> ScenarioSettings:
        judge = self.judge.model if self.judge else None
        return ScenarioSettings(models=tuple(self.targets), judge=judge, **self.file.asking.model_dump())

    def as_json(self) -> str:
        return self.file.model_copy(update={"name": self.name}).model_dump_json()


def read_source(
    source: Source, name: str, lacking: str, remedy: str, locate: Callable[[Path | str], Path] = Path
) -> tuple[str, Document]:
    """The original text and the document of a file, a mapping or a JSON text; raises UserError."""
    if isinstance(source, Mapping):
        text = _as_text(source, name)
        document = parse_document(text, name, is_json=True)
    elif isinstance(source, str) and source.lstrip().startswith("{"):
        text, document = source, parse_document(source, name, is_json=True)
    else:
        document = read_document(locate(source))
        text = document.text
    if not isinstance(document.value, dict):
        raise UserError(Problem("is empty" if document.value is None else lacking, document.name, remedy))
    return text, document


def _as_text(source: Mapping[str, Any], name: str) -> str:
    try:
        return json.dumps(source, ensure_ascii=False, indent=2, default=str)
    except (TypeError, ValueError, RecursionError) as error:
        what = f"cannot be written as JSON: {error}"
        raise UserError(Problem(what, name, "build it of dicts, lists, texts and numbers")) from error


def apply_options(document: Document, given: Given) -> Document:
    """The document with the command line's values in place of its own."""
    value, options = dict(document.value), dict[Location, str]()
    for (section, key), (option, wanted) in given.items():
        own = value.get(section)
        if own is None or isinstance(own, dict):
            value[section] = (own or {}) | {key: wanted}
            options[section, key] = option
    return replace(document, value=value, given={**document.given, **options})


def without_keys(document: Document, section: str, keys: Collection[str]) -> Document:
    """The document without some keys of a section."""
    own = document.value.get(section)
    if not isinstance(own, dict):
        return document
    kept = {key: value for key, value in own.items() if key not in keys}
    return replace(document, value=document.value | {section: kept})


LANGUAGE_NAMES = {
    "ar": "Arabic",
    "de": "German",
    "eu": "Basque",
    "fr": "French",
    "gl": "Galician",
    "it": "Italian",
    "ja": "Japanese",
    "nl": "Dutch",
    "pl": "Polish",
    "pt": "Portuguese",
    "ru": "Russian",
    "zh": "Chinese",
}
"""Of languages that are asked for first."""


@dataclass
class Draft:
    """A file while it is resolved, with the problems found so far."""

    text: str
    document: Document
    reading: Reading
    problems: list[Problem] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.problems += self.reading.mistakes

    @property
    def catalog(self) -> Catalog:
        return self.reading.catalog

    def section(self, name: str) -> dict[str, Any]:
        """A section as written; empty if it is missing or no mapping."""
        own = self.document.value.get(name)
        return own if isinstance(own, dict) else {}

    def add(self, what: str, remedy: str, *location: str | int) -> None:
        """Adds a problem at a location of the file."""
        self.problems.append(Problem(what, self.document.place(*location), remedy))

    def check_model(self, model: Any, *location: str | int) -> None:
        """Adds the errors of a model's name."""
        self.check(self.catalog.target, model, *location)

    def check_models(self, models: Any, *location: str | int) -> None:
        for index, model in enumerate(models if isinstance(models, list | tuple) else ()):
            self.check_model(model, *location, index)

    def check_tested(self, section: str, service: str) -> None:
        """Adds the errors of models under test, and one where neither a model nor a `service` is described."""
        own = self.section(section)
        if own.get("models"):
            self.check_models(own["models"], section, "models")
        elif own.get("endpoint") is None:
            remedy = (
                f"list one in `{section}.models`, describe {service} in `{section}.endpoint`, or give `--model`"
            )
            self.add("no model is named", remedy, section, "models")

    def check(self, look_up: Callable[[str], object], name: Any, *location: str | int) -> None:
        """Adds the errors that a look-up raises for a name; values of other types are errors of the schema."""
        try:
            if isinstance(name, str):
                look_up(name)
        except UserError as wrong:
            for mistake in wrong.mistakes:
                self.add(mistake.what, mistake.remedy, *location)

    def check_names(self, what: str, names: Any, known: Collection[str], *location: str | int) -> None:
        """Adds an error for each unknown name of a list; `what` holds the name at `{}`."""
        for index, name in enumerate(names if isinstance(names, tuple) else ()):
            if name not in known:
                self.add(what.format(f"`{name}`"), nearest(name, known), *location, index)

    def check_languages(self, tags: Any, *at: str | int) -> None:
        """Adds an error of each language that the catalog does not have; tags that are none are the schema's."""
        known = self.catalog.languages
        for index, tag in enumerate(tags if isinstance(tags, list) else ()):
            if isinstance(tag, str) and re.match(LANGUAGE, tag) and tag not in {*known, *self.reading.unread}:
                name = LANGUAGE_NAMES.get(tag.partition("_")[0], "")
                close = [other for other in known if other.partition("_")[0] == tag.partition("_")[0]]
                remedy = nearest(tag, close) or f"known: {', '.join(f'`{other}`' for other in known)}"
                what = f"there is no {name} (`{tag}`)" if name else f"there is no `{tag}`"
                own = f"or add languages/{tag}.yaml to a directory that {OVERLAY} names"
                self.add(what, f"{remedy}; {own}", *at, index)

    def validate(self, kind: type[Model]) -> Model:
        """The validated file; raises UserError with its errors and those found before."""
        try:
            return validate(kind, self.document)
        except UserError as wrong:
            raise UserError(in_file_order([*wrong.mistakes, *self.problems])) from wrong

    def stop_at_problems(self, further: Iterable[Problem] = ()) -> None:
        """Raises UserError with all problems found, if there are any."""
        found = in_file_order([*self.problems, *further])
        if found:
            raise UserError(found)


def at_their_lines(mistakes: Iterable[Problem], document: Document) -> Iterator[Problem]:
    """The problems, with file and line of the requirement if it is known."""
    asked = enumerate(document.value["requirements"])
    places = {
        f"requirement `{entry.get('name')}`": document.place("requirements", number)
        for number, entry in asked
        if isinstance(entry, dict)
    }
    return (_add_place(mistake, places) for mistake in mistakes)


def _add_place(mistake: Problem, places: Mapping[str, str]) -> Problem:
    if mistake.where in places:
        return replace(mistake, what=f"{mistake.where}: {mistake.what}", where=places[mistake.where])
    named = mistake.what.partition(":")[0] if not mistake.where else ""
    return replace(mistake, where=places[named]) if named in places else mistake


def in_file_order(problems: Iterable[Problem]) -> list[Problem]:
    """The problems by file and line, each once."""
    return sorted(dict.fromkeys(problems), key=position)
