"""Reads the documents of an audit, and reports every one that cannot be used."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from biasgrid.catalogs.audit.audit_file import Documents
from biasgrid.catalogs.audit.identities import Identities
from biasgrid.catalogs.audit.masking import Masked, mask_document
from biasgrid.catalogs.errors import Problem, UserError, nearest, place
from biasgrid.catalogs.loading.tables import read_table
from biasgrid.catalogs.loading.text_files import read_table_text, read_text

SUFFIXES: Final = (".txt", ".md")
TABLES: Final = (".csv", ".tsv", ".jsonl")
FORMATS: Final = {
    ".pdf": ("PDF", "pdftotext -layout {0}"),
    ".docx": ("Word", "pandoc {0} -o {1}"),
    ".doc": ("Word", "soffice --convert-to txt {0}"),
    ".odt": ("Writer", "pandoc {0} -o {1}"),
    ".rtf": ("RTF", "pandoc {0} -o {1}"),
}
"""By suffix: what it is called, and the command that converts it."""
LARGEST_MB: Final = 5
LONGEST: Final = 100_000
"""Characters of a document."""
FEWEST: Final = 6
"""Documents below which nothing can be shown."""


@dataclass(frozen=True, slots=True)
class AuditDocument:
    """A document with slots in the place of whom it is about."""

    id: str
    place: str
    """The file, and the line in a table."""
    masked: Masked


@dataclass(frozen=True, slots=True)
class _Raw:
    id: str
    file: str
    line: int | None
    """In a table."""
    text: str
    name: str = ""


def read_documents(given: Documents, root: Path, words: Identities) -> tuple[list[AuditDocument], list[Problem]]:
    """The documents with slots, and all that keeps them from being used."""
    try:
        raw = list(_read(given, root / given.path))
    except UserError as wrong:
        return [], list(wrong.mistakes)
    if overlong := list(_find_overlong(raw)):
        return [], overlong
    read = [
        AuditDocument(one.id, place(one.file, one.line), mask_document(one.text, words, one.name, given.allow))
        for one in raw
    ]
    problems = [problem for one, own in zip(raw, read, strict=True) for problem in _problems(one, own)]
    if len(read) < FEWEST:
        what = f"holds {len(read)} documents, and fewer than {FEWEST} can show nothing"
        problems.append(Problem(what, str(root / given.path), "add documents"))
    return read, [*problems, *_find_repeats(read)]


def _find_overlong(raw: list[_Raw]) -> Iterator[Problem]:
    for one in raw:
        if len(one.text) > LONGEST:
            what = f"has {len(one.text):,} characters, more than {LONGEST:,}"
            yield Problem(what, place(one.file, one.line), "shorten it")


def _problems(raw: _Raw, read: AuditDocument) -> Iterator[Problem]:
    if not raw.text.strip():
        yield Problem("is empty", read.place, "leave it out")
        return
    for one in read.masked.visible:
        remedy = "write the slot `{name}`, take the line out, or list the word in `documents.allow`"
        where = place(raw.file, one.line) if raw.line is None else f"{read.place} (its line {one.line})"
        yield Problem(f"still shows an identity: {one.reason}", where, remedy)


def _find_repeats(read: list[AuditDocument]) -> Iterator[Problem]:
    seen: dict[str, AuditDocument] = {}
    for one in read:
        first = seen.setdefault(one.masked.text, one)
        if first is not one and one.masked.text.strip():
            yield Problem(f"is the same as {first.place} but for the identity", one.place, "leave it out")


def _read(given: Documents, path: Path) -> Iterator[_Raw]:
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file() and not file.name.startswith("."))
        wrong = [file for file in files if file.suffix.lower() not in SUFFIXES]
        if wrong:
            raise UserError(map(_refuse_format, wrong))
        yield from _read_files(files, path)
    elif path.suffix.lower() not in TABLES:
        remedy = "name a directory of .txt and .md files, a .csv or a .jsonl file"
        is_absent = Problem("is not there", str(path), remedy)
        raise UserError(_refuse_format(path) if path.exists() else is_absent)
    elif path.suffix.lower() == ".jsonl":
        yield from _read_lines(given, path)
    else:
        yield from _read_rows(given, path)


def _refuse_format(path: Path) -> Problem:
    """Of a layout a program makes text in an order that only a person can check: nothing is converted unseen."""
    name, convert = FORMATS.get(path.suffix.lower(), ("", ""))
    if not name:
        remedy = "save documents as .txt or .md, or take the file out of the directory"
        return Problem("is neither text nor Markdown", str(path), remedy)
    command = convert.format(shlex.quote(path.name), shlex.quote(path.with_suffix(".md").name))
    return Problem(f"is a {name} file", str(path), f"convert it to text and read that: `{command}`")


def _read_files(files: list[Path], root: Path) -> Iterator[_Raw]:
    mistakes: list[Problem] = []
    for file in files:
        try:
            text = read_text(file, LARGEST_MB)
        except UserError as wrong:
            mistakes += wrong.mistakes
        else:
            yield _Raw(file.relative_to(root).with_suffix("").as_posix(), str(file), None, text)
    if mistakes:
        raise UserError(mistakes)


def _read_rows(given: Documents, path: Path) -> Iterator[_Raw]:
    table = read_table(read_table_text(path), str(path))
    wanted = [given.column, *([given.name_column] if given.name_column else [])]
    for column in wanted:
        if column.lower() not in table.header:
            raise UserError(Problem(f"has no column `{column}`", table.place, nearest(column, table.header)))
    for row in table.rows():
        name = row.text(given.name_column.lower()) if given.name_column else ""
        text = row.text(given.column.lower())
        yield _Raw(row.text("id") or f"{path.stem}-{row.line}", str(path), row.line, text, name)


def _read_lines(given: Documents, path: Path) -> Iterator[_Raw]:
    for number, line in enumerate(read_table_text(path).splitlines(), start=1):
        if line.strip():
            value = _parse(line, place(path, number))
            if not isinstance(value.get(given.column), str):
                what = f"has no text under `{given.column}`"
                raise UserError(Problem(what, place(path, number), nearest(given.column, map(str, value))))
            name = str(value.get(given.name_column) or "") if given.name_column else ""
            own = str(value.get("id") or f"{path.stem}-{number}")
            yield _Raw(own, str(path), number, value[given.column], name)


def _parse(line: str, where: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UserError(Problem(f"is no JSON: {error}", where, "write one object a line")) from error
    if not isinstance(value, dict):
        raise UserError(Problem("is no JSON object", where, 'write it like {"text": "…"}'))
    return value
