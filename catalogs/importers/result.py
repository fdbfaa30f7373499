"""What an importer makes of a file: what it could bring over, and every row that it could not, with its reason."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from biasgrid.catalogs.errors import Problem, UserError, place
from biasgrid.catalogs.loading.pydantic_errors import explain, remedy
from biasgrid.catalogs.schema.entries import Template
from biasgrid.catalogs.schema.scenes import Scene, WholeText

LONGEST_QUOTE: Final = 80
"""Characters of a file's text in a message."""


@dataclass(frozen=True, slots=True)
class RecordedReply:
    """A reply of a model, recorded elsewhere; the columns that `replay/<file>` reads."""

    prompt: str
    response: str
    model: str | None = None
    """provider/model"""
    sample: int | None = None
    finish_reason: str | None = None


@dataclass(frozen=True, slots=True)
class Imported:
    """One file's content in our form. A refused row's mistake names its line."""

    file: str
    rows: int = 0
    """Rows read, blank ones aside: benchmark items, words of a list, replies."""
    templates: tuple[Template, ...] = ()
    replies: tuple[RecordedReply, ...] = ()
    scenes: tuple[Scene, ...] = ()
    examples: tuple[WholeText, ...] = ()
    """Assignments to tune on."""
    scenario: Mapping[str, Any] | None = None
    """Where the file is a scenario: its settings and requirements, as our YAML has them."""
    refused: tuple[Problem, ...] = ()
    lost: int = 0
    """Rows that were refused; several where rows belong together."""
    notices: tuple[str, ...] = ()
    """What a person should know about rows that were brought over."""

    @property
    def is_empty(self) -> bool:
        return not (self.templates or self.replies or self.scenes or self.examples or self.scenario)


class NotTheFormat(UserError):
    """A file lacks what makes it one of the format."""


Part = TypeVar("Part")
Made = TypeVar("Made")
Kind = TypeVar("Kind", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Sorted(Generic[Made]):
    """What was made of a file's parts, and what was not; counted as `Imported` does."""

    made: tuple[Made, ...]
    rows: int
    lost: int
    refused: tuple[Problem, ...]


def gathered(
    file: str,
    parts: Iterable[tuple[int, Part]],
    made: Callable[[Part], Template],
    rows_of: Callable[[Part], int] = lambda _: 1,
) -> Imported:
    """The templates made of a file's parts, each with its line; parts of which none could be made are refused, and
    so is one whose id another has."""
    found = sifted(file, parts, made, lambda template: template.id, rows_of)
    return Imported(file, found.rows, templates=found.made, refused=found.refused, lost=found.lost)


def sifted(
    file: str,
    parts: Iterable[tuple[int, Part]],
    made: Callable[[Part], Made],
    named: Callable[[Made], str],
    rows_of: Callable[[Part], int] = lambda _: 1,
) -> Sorted[Made]:
    """What `made` makes of each part, with its line, that no part before was made into by name."""
    kept: dict[str, Made] = {}
    refused: list[Problem] = []
    rows = lost = 0
    for line, part in parts:
        rows += rows_of(part)
        try:
            _add(made(part), named, kept)
        except UserError as wrong:
            lost += rows_of(part)
            refused += at(place(file, line), wrong.mistakes)
    return Sorted(tuple(kept.values()), rows, lost, tuple(refused))


def _add(one: Made, named: Callable[[Made], str], kept: dict[str, Made]) -> None:
    name = named(one)
    if name in kept:
        raise UserError(Problem(f"`{shortened(name)}` stands in this file twice", remedy="keep one of them"))
    kept[name] = one


def shortened(text: str) -> str:
    return text if len(text) <= LONGEST_QUOTE else f"{text[: LONGEST_QUOTE - 1]}…"


def refusing_braces(*texts: str) -> None:
    """Raises UserError for a text in which our templates would look for a community."""
    for text in texts:
        if re.search(r"[{}]", text):
            raise UserError(
                Problem(f"holds a brace: `{text[:LONGEST_QUOTE]}`", remedy="remove it: it would open a slot")
            )


def template(fields: Mapping[str, Any], named: Mapping[str, str] | None = None) -> Template:
    """A template of checked fields. Raises UserError; `named` gives what the file calls a field."""
    return checked(Template, fields, named)


def checked(kind: type[Kind], fields: Mapping[str, Any], named: Mapping[str, str] | None = None) -> Kind:
    """As `template`, of any kind."""
    try:
        return kind.model_validate(fields)
    except ValidationError as error:
        raise UserError(list(_wrong(error, kind, named or {}))) from error


def _wrong(error: ValidationError, kind: type[BaseModel], named: Mapping[str, str]) -> Iterator[Problem]:
    for problem in error.errors():
        key = str(problem["loc"][0]) if problem["loc"] else "row"
        yield Problem(explain(problem, f"`{named.get(key, key)}`"), remedy=remedy(problem, kind))


def at(where: str, mistakes: Iterable[Problem]) -> list[Problem]:
    """The mistakes of one row, told as one with its place."""
    told = list(mistakes)
    what = "; ".join(mistake.what for mistake in told)
    return [Problem(what, where, next((mistake.remedy for mistake in told if mistake.remedy), ""))]


def slug(name: str) -> str:
    """A name as an id: lower case, `_` for whatever an id cannot hold."""
    return re.sub(r"[^a-z0-9.-]+", "_", name.strip().lower()).strip("_.-")
