"""Template libraries: our YAML, and any directory or file of templates in our format or LangBiTe's."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from catalogs import langbite
from catalogs.documents import Document, parse_document, read_text, validated
from catalogs.mistakes import Mistake, UserMistake
from catalogs.schema import Template, TemplateFile

YAML_SUFFIXES = (".yaml", ".yml")
TABLE_SUFFIXES = (".csv", ".tsv", ".txt")


def read_library(
    path: Path, concerns: Mapping[str, str], language: str | None = None
) -> tuple[tuple[Template, ...], dict[str, str], list[Mistake]]:
    """The templates of a file or directory, the SHA-256 of each file, and every mistake in them.

    `concerns` maps known spellings, lower case, to ids; others are a library's own. `language` is that of a
    table whose name does not end in one.
    """
    templates: list[Template] = []
    hashes: dict[str, str] = {}
    mistakes: list[Mistake] = []
    for file in _files(path):
        try:
            text = read_text(file)
            hashes[str(file)] = hashlib.sha256(text.encode()).hexdigest()
            if file.suffix in YAML_SUFFIXES:
                templates.extend(read_templates(parse_document(text, str(file)), library=str(file)))
            else:
                templates.extend(langbite.read_table(text, file, concerns, language))
        except UserMistake as wrong:
            mistakes.extend(wrong.mistakes)
    return tuple(templates), hashes, mistakes


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise UserMistake(
            Mistake(
                f"library `{path}` does not exist",
                remedy="name a file or directory of templates, or `shipped`",
            )
        )
    found = sorted(file for file in path.rglob("*") if file.suffix in YAML_SUFFIXES + TABLE_SUFFIXES)
    if not found:
        raise UserMistake(
            Mistake(
                f"library `{path}` holds no templates",
                remedy="put *.yaml files or LangBiTe's tab-separated *.csv files there",
            )
        )
    return found


def read_templates(document: Document, library: str = "shipped") -> tuple[Template, ...]:
    """The templates of one YAML file. Raises UserMistake with all its mistakes."""
    file = validated(TemplateFile, document)
    templates: list[Template] = []
    mistakes: list[Mistake] = []
    seen: dict[str, int | None] = {}
    for index, entry in enumerate(file.templates):
        at = ("templates", index)
        try:
            template = validated(
                Template,
                document,
                {
                    "language": file.language,
                    "concern": file.concern,
                    **entry,
                    "library": library,
                    "line": document.line(at),
                },
                at,
            )
        except UserMistake as wrong:
            mistakes.extend(wrong.mistakes)
            continue
        if template.id in seen:
            mistakes.append(
                Mistake(
                    f"template `{template.id}` stands on line {seen[template.id]} too",
                    document.place(*at),
                    "give each its own id",
                )
            )
        seen[template.id] = template.line
        templates.append(template)
    if mistakes:
        raise UserMistake(mistakes)
    return tuple(templates)
