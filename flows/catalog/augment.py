"""`catalog augment`: a model writes templates or scenes for review. `catalog accept`: copies accepted ones into
the user's own library."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.loading.catalog import OVERLAY, load_catalog
from biasgrid.catalogs.loading.documents import parse_document
from biasgrid.catalogs.loading.text_files import read_text
from biasgrid.catalogs.schema.models import patient
from biasgrid.catalogs.text_safety import excerpt
from biasgrid.flows.runs.prepare import open_lake
from biasgrid.tasks.augment.accept import (
    check_chosen,
    find_library,
    read_review,
    refuse_installed,
    with_ids,
    with_marks,
    write,
)
from biasgrid.tasks.augment.filter import Filtered, filter_replies
from biasgrid.tasks.augment.library import with_entries
from biasgrid.tasks.augment.order import SceneOrder, SceneWish, TemplateWish, resolve_order
from biasgrid.tasks.augment.prompts import KIND, TOKENS, Request, ask, build_request
from biasgrid.tasks.augment.review import Provenance, default_path, describe_origin, review_text
from biasgrid.tasks.connectors.client.model_pool import ModelPool
from biasgrid.tasks.connectors.generator import Generator
from biasgrid.tasks.connectors.keys import Secrets, missing_keys


@dataclass(frozen=True, slots=True)
class Writer:
    """The model that writes the entries, and where its replies and the review file go."""

    model: str
    temperature: float | None = None
    out: Path | None = None
    force: bool = False
    """Whether an existing review file is overwritten."""
    data: str | Path | None = None
    secrets: Secrets | None = None


@dataclass(frozen=True)
class Augmentation:
    """An order that can be sent, since all its names are known and its file can be written."""

    request: Request
    out: Path
    writer: Writer


@dataclass(frozen=True, slots=True)
class Augmented:
    """Result of an augmentation; `out` is None if no reply arrived."""

    out: Path | None
    filtered: Filtered
    sent: int
    kept: int
    failures: tuple[str, ...]
    cost_usd: float | None
    """Cost of this run; None if a price is unknown."""
    kind: str = "template"
    """What was ordered."""


def prepare(wish: TemplateWish | SceneWish, writer: Writer) -> Augmentation:
    """The order and its requests; raises UserError with all errors. Sends and writes nothing."""
    catalog = load_catalog()
    mistakes: list[Problem] = []
    target = order = None
    try:
        target = catalog.target(writer.model)
        mistakes.extend(missing_keys([target], writer.secrets))
    except UserError as unknown:
        mistakes.extend(unknown.mistakes)
    try:
        order = resolve_order(catalog, wish)
    except UserError as unknown:
        mistakes.extend(unknown.mistakes)
    path = writer.out or (default_path(order, datetime.now(UTC)) if order else None)
    if path is not None:
        mistakes.extend(_unwritable(path, writer.force))
    if mistakes or target is None or order is None or path is None:
        raise UserError(mistakes)
    generator = Generator(KIND, target, catalog, wish.seed, TOKENS, writer.temperature)
    return Augmentation(build_request(order, generator), path, writer)


async def augment(prepared: Augmentation) -> Augmented:
    """Requests, filters and writes entries for review. Replies stay in the lake even if a later step fails."""
    request, writer = prepared.request, prepared.writer
    order, generator = request.order, request.generator
    async with ModelPool(generator.catalog, writer.secrets) as model_pool:
        model_pool.prepare([patient(generator.target)])
        found = await ask(open_lake(writer.data), request, model_pool)
    answered = found.answered
    replies = [(each.part, answered[each.key]["text"]) for each in request.parts if each.key in answered]
    overlay = generator.catalog.overlay if isinstance(order, SceneOrder) else None
    filtered = filter_replies(replies, order, Path(overlay) if overlay else None)
    if replies:
        text = review_text(order, describe_origin(request, found), filtered, request.prompts)
        write({prepared.out: text})
    fresh = [row for key, row in answered.items() if key not in found.kept]
    costs = [row["cost_usd"] for row in fresh]
    return Augmented(
        prepared.out if replies else None,
        filtered,
        len(fresh) + len(found.failed),
        len(found.kept),
        tuple(dict.fromkeys(excerpt(str(row["error_message"]), 300) for row in found.failed.values())),
        None if None in costs else sum(costs),
        "scene" if isinstance(order, SceneOrder) else "template",
    )


def _unwritable(path: Path, force: bool) -> list[Problem]:
    """Found before anything is paid for."""
    there = next((folder for folder in path.absolute().parents if folder.exists()), path)
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        what = f"`{path}` cannot be written: {error.strerror or error}"
        return [Problem(what, "--out", "name another file, or change the permissions of its directory")]
    if path.is_dir():
        return [Problem(f"`{path}` is a directory", "--out", "name a file")]
    if path.exists() and not force:
        what = f"`{path}` exists, and may hold decisions of a reviewer"
        return [Problem(what, "--out", "name another file, or overwrite it with --force")]
    return []


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
