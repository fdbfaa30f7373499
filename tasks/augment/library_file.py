"""Writes accepted templates to a library file and marks them in their review, both or neither."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import yaml

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.loading.documents import Document, parse_document, read_text
from biasgrid.catalogs.loading.template_files import read_templates
from biasgrid.catalogs.schema.entries import LanguageCatalog
from biasgrid.tasks.augment.accept import Chosen
from biasgrid.tasks.augment.yaml_text import listed_entry, template_file
from biasgrid.warehouse.storage.atomic_file import replace_atomically

HEAD = "Written by models, reviewed and accepted by people; `source` has by whom and when."
UNDECIDED = re.compile(r"(decision:)[ ]*(?:accept|'accept'|\"accept\"|''|\"\"|~|null)?[ ]*(?=#|$)", re.IGNORECASE)


def shelf(overlay: Path, language: str, concern: str) -> Path:
    """The file of a catalog for accepted templates."""
    return overlay / "templates" / language / f"{concern}-accepted.yaml"


def with_entries(
    path: Path,
    language: str,
    concern: str,
    entries: Sequence[Mapping[str, Any]],
    languages: Mapping[str, LanguageCatalog],
) -> str:
    """The file's text with the entries appended and its comments unchanged; raises UserError if they cannot be
    added."""
    text = appended(path, read_text(path), entries, "templates") if path.exists() else None
    whole = text or template_file(language, concern, entries, HEAD)
    found, mistakes = read_templates(parse_document(whole, str(path)), languages)
    strange = [template for template in found if (template.language, template.concern) != (language, concern)]
    if mistakes or strange:
        what = f"holds templates of another concern or language than `{concern}`, `{language}`"
        raise UserError(mistakes or Problem(what, str(path), "move them to a file of their own"))
    return whole


def with_marks(document: Document, chosen: Sequence[Chosen], names: Sequence[str], key: str = "templates") -> str:
    """The review's text with each accepted decision marked; raises UserError if a decision's form prevents it."""
    lines = document.text.split("\n")
    for one, name in zip(chosen, names, strict=True):
        number = document.line((key, one.index, "decision")) or 0
        given = lines[number - 1]
        lines[number - 1] = UNDECIDED.sub(rf"\1 accepted  # as {name}  ", given, count=1).rstrip()
        if lines[number - 1] == given or "{" in given.partition("decision:")[0]:
            raise _unmarkable(one, document, key)
    marked = "\n".join(lines)
    entries = parse_document(marked, document.name).value[key]
    for one in chosen:
        if entries[one.index] != {**one.entry, "decision": "accepted"}:
            raise _unmarkable(one, document, key)
    return marked


def _unmarkable(one: Chosen, document: Document, key: str) -> UserError:
    where = document.place(key, one.index, "decision")
    what = f"the decision on {key.removesuffix('s')} `{one.name}` cannot be marked as carried out"
    return UserError(Problem(what, where, "write `decision: accept` on a line of its own"))


def write(texts: Mapping[Path, str]) -> None:
    """Writes all files or none; raises UserError if one cannot be written."""
    with ExitStack() as files:
        try:
            for path, text in texts.items():
                files.enter_context(replace_atomically(path)).write_text(text, encoding="utf-8", newline="")
        except OSError as error:
            what = f"`{path}` cannot be written: {error.strerror or error}"
            raise UserError(Problem(what, remedy="check the path and its permissions")) from error


def appended(path: Path, text: str, entries: Sequence[Mapping[str, Any]], name: str) -> str | None:
    """The text with the entries after its last list, or None if it has no list; raises UserError if it ends
    with anything else."""
    if parse_document(text, str(path)).value is None:
        return None
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    key, held = root.value[-1] if isinstance(root, yaml.MappingNode) and root.value else (None, None)
    if key is None or key.value != name or not isinstance(held, yaml.SequenceNode) or held.flow_style:
        what = f"cannot take further {name}: its last key must be `{name}`, a list with one entry a line"
        raise UserError(Problem(what, str(path), "rewrite it so, or accept into another directory"))
    column = held.start_mark.column
    listed = "\n".join(listed_entry(entry, by=column) for entry in entries)
    return f"{text.rstrip()}\n{listed}\n"
