"""Defines the result of an import: the converted content, and every refused row with its reason."""

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
"""Maximum number of characters quoted from a file in a message."""


@dataclass(frozen=True, slots=True)
class RecordedReply:
    """A recorded reply of a model, with the columns that `replay/<file>` reads."""

    prompt: str
    response: str
    model: str | None = None
    """provider/model"""
    sample: int | None = None
    finish_reason: str | None = None


@dataclass(frozen=True, slots=True)
class Imported:
    """Content of a file in our formats; the problem of a refused row contains its line."""

    file: str
    rows: int = 0
    """Number of non-blank rows read: benchmark items, words of a list, replies."""
    templates: tuple[Template, ...] = ()
    replies: tuple[RecordedReply, ...] = ()
    scenes: tuple[Scene, ...] = ()
    examples: tuple[WholeText, ...] = ()
    """Assignments for fine-tuning."""
    scenario: Mapping[str, Any] | None = None
    """Settings and requirements in the form of our YAML, if the file is a scenario."""
    refused: tuple[Problem, ...] = ()
    lost: int = 0
    """Number of refused rows, including all rows of a refused group."""
    notices: tuple[str, ...] = ()
    """Information for the user about imported rows."""

    @property
    def is_empty(self) -> bool:
        return not (self.templates or self.replies or self.scenes or self.examples or self.scenario)


class NotTheFormat(UserError):
    """A file lacks required elements of the format."""


Part = TypeVar("Part")
Made = TypeVar("Made")
Kind = TypeVar("Kind", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Sorted(Generic[Made]):
    """Converted and refused parts of a file, counted as in `Imported`."""

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
    """Templates made of a file's numbered parts; invalid parts and duplicate ids are refused."""
    found = sifted(file, parts, made, lambda template: template.id, rows_of)
    return Imported(file, found.rows, templates=found.made, refused=found.refused, lost=found.lost)


def sifted(
    file: str,
    parts: Iterable[tuple[int, Part]],
    made: Callable[[Part], Made],
    named: Callable[[Made], str],
    rows_of: Callable[[Part], int] = lambda _: 1,
) -> Sorted[Made]:
    """Results of `made` for each numbered part; invalid parts and duplicate names are refused."""
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
    """Raises UserError for a text with braces, which our templates would read as slots."""
    for text in texts:
        if re.search(r"[{}]", text):
            raise UserError(
                Problem(f"holds a brace: `{text[:LONGEST_QUOTE]}`", remedy="remove it: it would open a slot")
            )


def template(fields: Mapping[str, Any], named: Mapping[str, str] | None = None) -> Template:
    """A validated template; raises UserError, with fields called as in `named`."""
    return checked(Template, fields, named)


def checked(kind: type[Kind], fields: Mapping[str, Any], named: Mapping[str, str] | None = None) -> Kind:
    """As `template`, for any model."""
    try:
        return kind.model_validate(fields)
    except ValidationError as error:
        raise UserError(list(_wrong(error, kind, named or {}))) from error


def _wrong(error: ValidationError, kind: type[BaseModel], named: Mapping[str, str]) -> Iterator[Problem]:
    for problem in error.errors():
        key = str(problem["loc"][0]) if problem["loc"] else "row"
        yield Problem(explain(problem, f"`{named.get(key, key)}`"), remedy=remedy(problem, kind))


def at(where: str, mistakes: Iterable[Problem]) -> list[Problem]:
    """The problems of a row merged into one with its place."""
    told = list(mistakes)
    what = "; ".join(mistake.what for mistake in told)
    return [Problem(what, where, next((mistake.remedy for mistake in told if mistake.remedy), ""))]


def slug(name: str) -> str:
    """The name as an id: lower case, with `_` for characters not allowed in ids."""
    return re.sub(r"[^a-z0-9.-]+", "_", name.strip().lower()).strip("_.-")
