"""`catalog accept`: copies accepted review items into the user's own library."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.loading.catalog import OVERLAY, load_catalog
from biasgrid.catalogs.loading.documents import Document, parse_document, read_text
from biasgrid.catalogs.text_safety import excerpt
from biasgrid.tasks.augment.accept import (
    Review,
    check_chosen,
    numbered,
    read_review,
    read_scene_review,
    refuse_installed,
)
from biasgrid.tasks.augment.library_file import shelf, with_entries, with_marks, write
from biasgrid.tasks.augment.review import Provenance
from biasgrid.tasks.augment.scenes.accept import check_chosen_scenes, order_of, scene_shelf, with_scenes


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
    document = parse_document(read_text(review), str(review))
    take = _accept_scenes if "scenes" in (document.value or {}) else _accept_templates
    return take(document, review, overlay, reviewer, every)


def _accept_templates(document: Document, review: Path, overlay: Path, reviewer: str, every: bool) -> Accepted:
    found = read_review(document, every)
    at_hand = overlay if overlay.is_dir() else None
    catalog = load_catalog(overlay=at_hand)
    warnings = check_chosen(found, document, catalog, at_hand)
    file = found.file
    entries = numbered(found.chosen, file.concern, catalog.templates, _source(file.provenance, reviewer))
    path = shelf(overlay, file.language, file.concern)
    refuse_installed(path.parent)
    if entries:
        library = with_entries(path, file.language, file.concern, entries, catalog.languages)
        write({path: library, review: with_marks(document, found.chosen, _names(entries))})
    return _accepted(path, found, entries, warnings, "template")


def _accept_scenes(document: Document, review: Path, overlay: Path, reviewer: str, every: bool) -> Accepted:
    found = read_scene_review(document, every)
    at_hand = overlay if overlay.is_dir() else None
    catalog = load_catalog(overlay=at_hand)
    file = found.file
    wanted = order_of(file, catalog)
    warnings = check_chosen_scenes(found, document, wanted, at_hand)
    held = [scene for domain in catalog.scenes.values() for scene in domain.scenes]
    entries = numbered(found.chosen, file.domain, held, _source(file.provenance, reviewer))
    path = scene_shelf(overlay, file.domain)
    refuse_installed(path.parent)
    if entries:
        library = with_scenes(path, wanted, file.domain, entries)
        write({path: library, review: with_marks(document, found.chosen, _names(entries), "scenes")})
    return _accepted(path, found, entries, warnings, "scene")


def _source(origin: Provenance, reviewer: str) -> str:
    by = f", reviewed by {excerpt(' '.join(reviewer.split()), 80)}" if reviewer.strip() else ""
    return f"written by {excerpt(origin.model, 120)} on {excerpt(origin.date[:10])}{by}"


def _names(entries: Sequence[Mapping[str, Any]]) -> list[str]:
    return [str(entry["id"]) for entry in entries]


def _accepted(
    path: Path, found: Review[Any], entries: Sequence[Mapping[str, Any]], warnings: Sequence[str], kind: str
) -> Accepted:
    pairs = tuple(zip((one.name for one in found.chosen), _names(entries), strict=True))
    beside = (tuple(found.undecided), tuple(found.rejected), tuple(found.done))
    return Accepted(path, pairs, *beside, tuple(warnings), kind)


def _overlay(into: Path | None) -> Path:
    named = into or (Path(os.environ[OVERLAY]) if os.environ.get(OVERLAY) else None)
    if named is None:
        what = "there is no catalog of your own to put them into"
        raise UserError(Problem(what, "--into", f"name a directory, here or by {OVERLAY}"))
    if named.exists() and not named.is_dir():
        raise UserError(Problem(f"`{named}` is no directory", "--into", "name a directory"))
    refuse_installed(named)
    return named
