"""Reads template libraries: files or directories in our YAML, our JSON lines or LangBiTe's format."""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from biasgrid.catalogs.errors import Problem, UserError, close_names, nearest, place
from biasgrid.catalogs.loading.documents import parse_document
from biasgrid.catalogs.loading.langbite import as_table, read_library_table
from biasgrid.catalogs.loading.template_files import LINES_SUFFIX, read_lines, read_templates
from biasgrid.catalogs.loading.text_files import DOCUMENTS, read_table_text, read_text, refuse_large
from biasgrid.catalogs.schema.entries import Concern, Template
from biasgrid.catalogs.schema.languages import LanguageCatalog


def spellings(concerns: Mapping[str, Concern]) -> dict[str, str]:
    """Every spelling of a concern in lower case, mapped to its id."""
    return {name.lower(): c.id for c in concerns.values() for name in (c.id, c.name, *c.aliases)}


def unknown_concerns(templates: Collection[Template], concerns: Mapping[str, Concern]) -> Iterator[Problem]:
    """One problem per file and unknown concern, not one per template."""
    strange = [template for template in templates if template.concern not in concerns]
    counts = Counter((template.file, template.concern) for template in strange)
    names = spellings(concerns)
    first = {(template.file, template.concern): template for template in reversed(strange)}
    for key, count in counts.items():
        template = first[key]
        what = f"concern `{template.concern}` is unknown ({count} template{'' if count == 1 else 's'})"
        own = f"keep it if it is your own; known: {', '.join(sorted(concerns))}"
        close = close_names(template.concern, names, names)
        remedy = nearest(template.concern, names, names) if close else own
        yield Problem(what, place(template.file, template.line), remedy)


YAML_SUFFIXES = (".yaml", ".yml")
TABLE_SUFFIXES = (".csv", ".tsv")
"""Suffixes of tables in a directory; a file that is named directly is a table with any suffix."""
LONGEST_SHOWN = 80


def read_library(
    path: Path, concerns: Mapping[str, str], languages: Mapping[str, LanguageCatalog], language: str | None = None
) -> tuple[tuple[Template, ...], dict[str, str], list[Problem]]:
    """Templates, SHA-256 of each file, and all errors; `language` is for tables without one in their name."""
    templates: list[Template] = []
    hashes: dict[str, str] = {}
    mistakes: list[Problem] = []
    files = _files(path)
    refuse_large(files, f"library `{path}`")
    for file in files:
        try:
            text = read_text(file) if file.suffix in DOCUMENTS else read_table_text(file)
            hashes[str(file)] = hashlib.sha256(text.encode()).hexdigest()
            if file.suffix in YAML_SUFFIXES:
                found, wrong = read_templates(parse_document(text, str(file)), languages, library=str(file))
            elif file.suffix == LINES_SUFFIX:
                found, wrong = read_lines(text, file)
            elif file.suffix == ".json":
                table, spoken = as_table(text, str(file))
                found, wrong = read_library_table(table, file, concerns, spoken or language)
            else:
                found, wrong = read_library_table(text, file, concerns, language)
            templates.extend(found)
            mistakes.extend(wrong)
        except UserError as unread:
            mistakes.extend(unread.mistakes)
    if not templates and not mistakes:
        mistakes.append(_holds_none(path))
    return tuple(templates), hashes, mistakes


def _files(path: Path) -> list[Path]:
    try:
        return _library_files(path)
    except OSError as error:
        named = str(path) if len(str(path)) <= LONGEST_SHOWN else f"{str(path)[:LONGEST_SHOWN]}…"
        what = f"library `{named}` cannot be read: {error.strerror or error}"
        raise UserError(Problem(what, remedy="check the path and its permissions")) from error


def _library_files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        remedy = "name a file or directory of templates, or `shipped`"
        raise UserError(Problem(f"library `{path}` does not exist", remedy=remedy))
    suffixes = (*YAML_SUFFIXES, *TABLE_SUFFIXES, LINES_SUFFIX)
    found = sorted(file for file in path.rglob("*") if file.suffix in suffixes)
    if not found:
        raise UserError(_holds_none(path))
    return found


def _holds_none(path: Path) -> Problem:
    formats = "*.yaml or *.jsonl files, or *.csv files in LangBiTe's format"
    remedy = f"put {formats} there" if path.is_dir() else "add templates to it, or name another library"
    return Problem(f"library `{path}` holds no templates", remedy=remedy)
