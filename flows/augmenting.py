"""`catalog augment` and `accept`: a model writes templates for review, a person takes them into a library."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from catalogs.catalog import OVERLAY, Catalog, load_catalog
from catalogs.documents import parse_document, read_text
from catalogs.mistakes import Mistake, UserMistake
from catalogs.models import Target, patient
from catalogs.schema import InputType, Reflection
from flows.preparation import open_lake
from tasks.augment.accept import check_chosen, numbered, read_review, refuse_installed
from tasks.augment.ask import Asked, ask, requests
from tasks.augment.order import Order, order
from tasks.augment.review import default_path, provenance, review_text
from tasks.augment.shelve import shelf, with_entries, with_marks, write
from tasks.augment.sift import Sifted, sift
from tasks.connectors.keys import Secrets, missing_keys
from tasks.connectors.switchboard import Switchboard
from tasks.connectors.visible import shown


@dataclass(frozen=True)
class Augmentation:
    """An order that can be sent: everything that could be wrong with it has been looked at."""

    catalog: Catalog
    order: Order
    target: Target
    asked: tuple[Asked, ...]
    temperature: float | None
    out: Path
    data: str | Path | None
    secrets: Secrets | None


@dataclass(frozen=True, slots=True)
class Augmented:
    """What came of it. `out` is None where no reply came, so that there is nothing to review."""

    out: Path | None
    sifted: Sifted
    sent: int
    kept: int
    failures: tuple[str, ...]
    cost_usd: float | None
    """What was paid this time; None where a price is not known."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """What `accept` did. `names` are pairs of the name in the review and the id in the library."""

    library: Path
    names: tuple[tuple[str, str], ...]
    undecided: tuple[str, ...]
    rejected: tuple[str, ...]
    done: tuple[str, ...]
    warnings: tuple[str, ...]


def prepare(
    *,
    model: str,
    concern: str,
    context: str,
    scenario: str = "",
    language: str = "en_us",
    inputs: Sequence[InputType] = (),
    reflections: Sequence[Reflection] = (),
    count: int = 10,
    seed: int = 0,
    temperature: float | None = None,
    out: Path | None = None,
    force: bool = False,
    data: str | Path | None = None,
    secrets: Secrets | None = None,
) -> Augmentation:
    """Resolve an order and its model. Raises UserMistake with all that is wrong; sends and writes nothing."""
    catalog = load_catalog()
    mistakes: list[Mistake] = []
    target = wanted = None
    try:
        target = catalog.target(model)
        mistakes.extend(missing_keys([target], secrets))
    except UserMistake as unknown:
        mistakes.extend(unknown.mistakes)
    try:
        wanted = order(
            catalog,
            concern=concern,
            context=context,
            language=language,
            scenario=scenario,
            inputs=inputs,
            reflections=reflections,
            count=count,
            seed=seed,
        )
    except UserMistake as unknown:
        mistakes.extend(unknown.mistakes)
    path = out or (default_path(wanted, datetime.now(UTC)) if wanted else None)
    if path is not None:
        mistakes.extend(_unwritable(path, force))
    if mistakes or target is None or wanted is None or path is None:
        raise UserMistake(mistakes)
    asked = requests(wanted, target, catalog, temperature)
    return Augmentation(catalog, wanted, target, asked, temperature, path, data, secrets)


async def augment(prepared: Augmentation) -> Augmented:
    """Ask, sift, and write the review file. What arrived lies in the lake whatever happens afterwards."""
    wanted, target = prepared.order, prepared.target
    async with Switchboard(prepared.catalog, prepared.secrets) as board:
        board.prepare([patient(target)])
        heard = await ask(open_lake(prepared.data), prepared.asked, target, board)
    replies = [
        (each.part, heard.answered[each.key]["text"]) for each in prepared.asked if each.key in heard.answered
    ]
    sifted = sift(replies, wanted)
    if replies:
        origin = provenance(wanted, target, prepared.asked, heard, prepared.catalog, prepared.temperature)
        write({prepared.out: review_text(wanted, origin, sifted, prepared.asked)})
    fresh = [row for key, row in heard.answered.items() if key not in heard.kept]
    costs = [row["cost_usd"] for row in fresh]
    return Augmented(
        prepared.out if replies else None,
        sifted,
        len(fresh) + len(heard.failed),
        len(heard.kept),
        tuple(dict.fromkeys(shown(str(row["error_message"]), 300) for row in heard.failed.values())),
        None if None in costs else sum(costs),
    )


def accept(review: Path, into: Path | None = None, reviewer: str = "", every: bool = False) -> Accepted:
    """Put what was accepted into the user's catalog and mark it. Raises UserMistake with all that is wrong, and
    then nothing is written."""
    overlay = _overlay(into)
    document = parse_document(read_text(review), str(review))
    found = read_review(document, every)
    at_hand = overlay if overlay.is_dir() else None
    catalog = load_catalog(overlay=at_hand)
    warnings = check_chosen(found, document, catalog, at_hand)
    file, origin = found.file, found.file.provenance
    by = f", reviewed by {shown(' '.join(reviewer.split()), 80)}" if reviewer.strip() else ""
    source = f"written by {shown(origin.model, 120)} on {shown(origin.date[:10])}{by}"
    entries = numbered(found.chosen, file.concern, catalog.templates, source)
    names = [str(entry["id"]) for entry in entries]
    path = shelf(overlay, file.language, file.concern)
    refuse_installed(path.parent)
    if entries:
        library = with_entries(path, file.language, file.concern, entries, catalog.languages)
        marked = with_marks(document, found.chosen, names)
        write({path: library, review: marked})
    pairs = tuple(zip((one.name for one in found.chosen), names, strict=True))
    return Accepted(path, pairs, tuple(found.undecided), tuple(found.rejected), tuple(found.done), tuple(warnings))


def _overlay(into: Path | None) -> Path:
    named = into or (Path(os.environ[OVERLAY]) if os.environ.get(OVERLAY) else None)
    if named is None:
        what = "there is no catalog of your own to put templates into"
        raise UserMistake(Mistake(what, "--into", f"name a directory, here or by {OVERLAY}"))
    if named.exists() and not named.is_dir():
        raise UserMistake(Mistake(f"`{named}` is no directory", "--into", "name a directory"))
    refuse_installed(named)
    return named


def _unwritable(path: Path, force: bool) -> list[Mistake]:
    """Found before anything is paid for."""
    there = next((folder for folder in path.absolute().parents if folder.exists()), path)
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        what = f"`{path}` cannot be written: {error.strerror or error}"
        return [Mistake(what, "--out", "name another file, or change the permissions of its directory")]
    if path.is_dir():
        return [Mistake(f"`{path}` is a directory", "--out", "name a file")]
    if path.exists() and not force:
        what = f"`{path}` exists, and may hold somebody's decisions"
        return [Mistake(what, "--out", "name another file, or overwrite it with --force")]
    return []
