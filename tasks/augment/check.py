"""Checks templates that are in no library yet against the catalog rules."""

from __future__ import annotations

import re
import tempfile
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from biasgrid.catalogs.lint.check import lint
from biasgrid.catalogs.lint.subject import Finding
from biasgrid.catalogs.loading.documents import Document, parse_document
from biasgrid.catalogs.text_safety import excerpt
from biasgrid.tasks.augment.yaml_text import template_file

FILE = "candidates.yaml"


@dataclass(frozen=True, slots=True)
class Checked:
    """What the catalog check finds in one entry, each finding a line of text."""

    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def checked(
    entries: Sequence[Mapping[str, Any]], language: str, concern: str, overlay: Path | None = None
) -> tuple[Checked, ...]:
    """The findings of each entry, in their order, without those on the file as a whole; the entries are checked
    as a library of their own."""
    if not entries:
        return ()
    with tempfile.TemporaryDirectory(prefix="biasgrid-") as folder:
        path = Path(folder) / FILE
        text = template_file(language, concern, entries)
        path.write_text(text, encoding="utf-8")
        found = lint(path, overlay).findings
    return by_entry(found, parse_document(text, str(path)), "templates")


def by_entry(found: Iterable[Finding], document: Document, key: str) -> tuple[Checked, ...]:
    """The findings on a file by the entry of its list in which they stand."""
    path = Path(document.name)
    count = len(document.value[key])
    starts = [document.line((key, index)) or 0 for index in range(count)]
    told: list[dict[str, list[str]]] = [{"error": [], "warning": []} for _ in range(count)]
    for finding in found:
        file, _, line = finding.mistake.where.rpartition(":")
        index = bisect_right(starts, int(line)) - 1 if file == document.name and line.isdecimal() else -1
        if index >= 0:
            said = _without_place(finding.mistake.what, path)
            remedy = f" ({finding.mistake.remedy})" if finding.mistake.remedy else ""
            told[index][finding.severity].append(excerpt(f"{said}{remedy}", 600))
    return tuple(Checked(*(tuple(dict.fromkeys(each[kind])) for kind in ("error", "warning"))) for each in told)


def _without_place(text: str, path: Path) -> str:
    """A message without the path of the temporary file."""
    return re.sub(rf" ?\(?{re.escape(str(path))}(?::\d+)?\)?", "", text)
