"""`catalog accept`: copies accepted review items into the user's own library."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.loading.catalog import OVERLAY, load_catalog
from biasgrid.catalogs.loading.documents import parse_document
from biasgrid.catalogs.loading.text_files import read_text
from biasgrid.catalogs.text_safety import excerpt
from biasgrid.tasks.augment.accept import (
    check_chosen,
    find_library,
    read_review,
    refuse_installed,
    with_ids,
    with_marks,
    write,
)
from biasgrid.tasks.augment.library import with_entries
from biasgrid.tasks.augment.review import Provenance


@dataclass(frozen=True, slots=True)
class Accepted:
    """What `accept` did. `names` are pairs of the name in the review and the id in the library."""

    library: Path
    names: tuple[tuple[str, str], ...]
    undecided: tuple[str, ...]
    rejected: tuple[str, ...]
    done: tuple[str, ...]
    warnings: tuple[str, ...]
    kind: str
    """template or scene"""


def accept(review: Path, into: Path | None = None, reviewer: str = "", every: bool = False) -> Accepted:
    """Adds accepted items to the user's catalog and marks them; raises UserError and writes nothing on any
    error."""
    overlay = _overlay(into)
    found = read_review(parse_document(read_text(review), str(review)), every)
    existing = overlay if overlay.is_dir() else None
    catalog = load_catalog(overlay=existing)
    library = find_library(found, catalog)
    warnings = check_chosen(found, library, existing)
    source = _source(found.file.provenance, reviewer)
    entries = with_ids(found.chosen, library.name, library.ids(catalog), source)
    path = library.path(overlay)
    refuse_installed(path.parent)
    ids = [str(entry["id"]) for entry in entries]
    if entries:
        write({path: with_entries(library, path, entries, catalog), review: with_marks(found, ids)})
    return Accepted(
        path,
        tuple(zip((one.name for one in found.chosen), ids, strict=True)),
        tuple(found.undecided),
        tuple(found.rejected),
        tuple(found.done),
        tuple(warnings),
        library.kind,
    )


def _source(origin: Provenance, reviewer: str) -> str:
    by = f", reviewed by {excerpt(' '.join(reviewer.split()), 80)}" if reviewer.strip() else ""
    return f"written by {excerpt(origin.model, 120)} on {excerpt(origin.date[:10])}{by}"


def _overlay(into: Path | None) -> Path:
    named = into or (Path(os.environ[OVERLAY]) if os.environ.get(OVERLAY) else None)
    if named is None:
        what = "there is no catalog of your own to put them into"
        raise UserError(Problem(what, "--into", f"name a directory, here or by {OVERLAY}"))
    if named.exists() and not named.is_dir():
        raise UserError(Problem(f"`{named}` is no directory", "--into", "name a directory"))
    refuse_installed(named)
    return named
