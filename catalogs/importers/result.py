"""Defines the result of an import: the converted content, and every refused row with its reason."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from biasgrid.catalogs.errors import Problem, UserError, place
from biasgrid.catalogs.loading.pydantic_errors import Location, list_problems
from biasgrid.catalogs.loading.tables import Table
from biasgrid.catalogs.schema.entries import Template
from biasgrid.catalogs.schema.scenes import Scene, WholeText
from biasgrid.catalogs.wording import SLOT

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


def convert(
    file: str,
    into: str,
    parts: Iterable[tuple[int, Part]],
    make: Callable[[Part], Made],
    name: Callable[[Made], str],
    rows_of: Callable[[Part], int] = lambda _: 1,
) -> Imported:
    """What `make` makes of a file's numbered parts, as the field `into`; invalid and repeated ones are refused."""
    kept: dict[str, Made] = {}
    refused: list[Problem] = []
    rows = lost = 0
    for line, part in parts:
        rows += rows_of(part)
        try:
            made = make(part)
            if name(made) in kept:
                raise refuse(f"`{shorten(name(made))}` stands in this file twice", "keep one of them")
            kept[name(made)] = made
        except UserError as wrong:
            lost += rows_of(part)
            refused += at(place(file, line), wrong.mistakes)
    content: dict[str, Any] = {into: tuple(kept.values())}
    return Imported(file, rows, refused=tuple(refused), lost=lost, **content)


def convert_templates(
    file: str,
    parts: Iterable[tuple[int, Part]],
    make: Callable[[Part], Template],
    rows_of: Callable[[Part], int] = lambda _: 1,
) -> Imported:
    """As `convert`, into templates, which have ids."""
    return convert(file, "templates", parts, make, lambda template: template.id, rows_of)


def with_columns(found: Table, columns: Sequence[str], kind: str) -> Table:
    """The table if it has the columns; raises NotTheFormat otherwise."""
    missing = [column for column in columns if column not in found.header]
    if missing:
        what = f"has no column `{'`, `'.join(missing)}`"
        raise NotTheFormat(Problem(what, found.place, f"{kind} has the columns {', '.join(columns)}"))
    return found


def refuse(what: str, remedy: str) -> UserError:
    """The error of a part of a file, whose place is added by `convert`."""
    return UserError(Problem(what, remedy=remedy))


def refuse_slots(*texts: str) -> None:
    """Raises UserError for a text with what our templates would read as a slot; other braces are text."""
    for text in texts:
        if found := SLOT.search(text):
            raise refuse(f"holds `{found[0]}`", "remove its braces: a community would be put in its place")


def refuse_empty(texts: Mapping[str, str], remedy: str) -> None:
    """Raises UserError if one of these texts is empty."""
    empty = [name for name, text in texts.items() if not text]
    if empty:
        raise refuse(f"`{'`, `'.join(empty)}` is empty", remedy)


def shorten(text: str) -> str:
    return text if len(text) <= LONGEST_QUOTE else f"{text[: LONGEST_QUOTE - 1]}…"


def benchmark_item(language: str, fields: Mapping[str, Any], names: Mapping[str, str] | None = None) -> Template:
    """A template of a benchmark's item; raises UserError, with fields called as in `names`."""
    common: dict[str, Any] = {"language": language, "input": "constrained", "reflection": "observational"}
    return validate_fields(Template, {**common, **fields}, names)


def validate_fields(kind: type[Kind], fields: Mapping[str, Any], names: Mapping[str, str] | None = None) -> Kind:
    """A validated entry; raises UserError, with fields called as in `names`."""

    def name(location: Location) -> str:
        key = str(location[0]) if location else "row"
        return f"`{(names or {}).get(key, key)}`"

    try:
        return kind.model_validate(fields)
    except ValidationError as error:
        raise UserError(list_problems(error, kind, name)) from error


def at(where: str, mistakes: Iterable[Problem]) -> list[Problem]:
    """The problems of a row merged into one with its place."""
    merged = list(mistakes)
    what = "; ".join(mistake.what for mistake in merged)
    return [Problem(what, where, next((mistake.remedy for mistake in merged if mistake.remedy), ""))]


def slug(name: str) -> str:
    """The name as an id: lower case, with `_` for characters not allowed in ids."""
    return re.sub(r"[^a-z0-9.-]+", "_", name.strip().lower()).strip("_.-")
