"""`catalog augment`: a model writes templates or scenes for review."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.loading.catalog import Catalog, load_catalog
from biasgrid.catalogs.schema.entries import InputType, Reflection
from biasgrid.catalogs.schema.models import Target, patient
from biasgrid.catalogs.text_safety import excerpt
from biasgrid.flows.runs.prepare import open_lake
from biasgrid.tasks.augment.ask import Asked, Heard, ask, requests, requests_of
from biasgrid.tasks.augment.filter import Sifted, sift, sift_scenes
from biasgrid.tasks.augment.library_file import write
from biasgrid.tasks.augment.order import Order, order
from biasgrid.tasks.augment.review import (
    default_path,
    provenance,
    review_text,
    scene_path,
    scene_provenance,
    scene_review_text,
)
from biasgrid.tasks.augment.scenes.order import SceneOrder, scene_order
from biasgrid.tasks.augment.scenes.prompts import scene_request
from biasgrid.tasks.connectors.client.model_pool import ModelPool
from biasgrid.tasks.connectors.keys import Secrets, missing_keys


@dataclass(frozen=True)
class Augmentation:
    """An order that can be sent: everything that could be wrong with it has been looked at."""

    catalog: Catalog
    order: Order | SceneOrder
    target: Target
    asked: tuple[Asked[Any], ...]
    temperature: float | None
    out: Path
    data: str | Path | None
    secrets: Secrets | None


@dataclass(frozen=True, slots=True)
class Augmented:
    """Result of an augmentation; `out` is None if no reply arrived."""

    out: Path | None
    sifted: Sifted
    sent: int
    kept: int
    failures: tuple[str, ...]
    cost_usd: float | None
    """Cost of this run; None if a price is unknown."""
    kind: str = "template"
    """What was ordered."""


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
    """Resolve an order and its model. Raises UserError with all that is wrong; sends and writes nothing."""
    ordered = partial(
        order,
        concern=concern,
        context=context,
        language=language,
        scenario=scenario,
        inputs=inputs,
        reflections=reflections,
        count=count,
        seed=seed,
    )
    catalog, wanted, target, path = _resolved(model, ordered, default_path, out, force, secrets)
    asked = requests(wanted, target, catalog, temperature)
    return Augmentation(catalog, wanted, target, asked, temperature, path, data, secrets)


def prepare_scenes(
    *,
    model: str,
    domain: str,
    language: str = "en_us",
    count: int = 10,
    seed: int = 0,
    temperature: float | None = None,
    out: Path | None = None,
    force: bool = False,
    data: str | Path | None = None,
    secrets: Secrets | None = None,
) -> Augmentation:
    """As `prepare`, of scenes in which people share out tasks."""
    ordered = partial(scene_order, domain=domain, language=language, count=count, seed=seed)
    catalog, wanted, target, path = _resolved(model, ordered, scene_path, out, force, secrets)
    told = [(part, scene_request(wanted, part)) for part in wanted.parts]
    asked = requests_of(told, seed, target, catalog, temperature)
    return Augmentation(catalog, wanted, target, asked, temperature, path, data, secrets)


Wanted = TypeVar("Wanted")


def _resolved(
    model: str,
    ordered: Callable[[Catalog], Wanted],
    named: Callable[[Wanted, datetime], Path],
    out: Path | None,
    force: bool,
    secrets: Secrets | None,
) -> tuple[Catalog, Wanted, Target, Path]:
    """The catalog, and what a user's names stand for in it. Raises UserError with all that is wrong."""
    catalog = load_catalog()
    mistakes: list[Problem] = []
    target = wanted = None
    try:
        target = catalog.target(model)
        mistakes.extend(missing_keys([target], secrets))
    except UserError as unknown:
        mistakes.extend(unknown.mistakes)
    try:
        wanted = ordered(catalog)
    except UserError as unknown:
        mistakes.extend(unknown.mistakes)
    path = out or (named(wanted, datetime.now(UTC)) if wanted else None)
    if path is not None:
        mistakes.extend(_unwritable(path, force))
    if mistakes or target is None or wanted is None or path is None:
        raise UserError(mistakes)
    return catalog, wanted, target, path


async def augment(prepared: Augmentation) -> Augmented:
    """Ask, sift, and write the review file. What arrived lies in the lake whatever happens afterwards."""
    target = prepared.target
    async with ModelPool(prepared.catalog, prepared.secrets) as model_pool:
        model_pool.prepare([patient(target)])
        heard = await ask(open_lake(prepared.data), prepared.asked, target, model_pool)
    replies = [
        (each.part, heard.answered[each.key]["text"]) for each in prepared.asked if each.key in heard.answered
    ]
    sifted, text = _sifted(prepared, heard, replies)
    if replies:
        write({prepared.out: text})
    fresh = [row for key, row in heard.answered.items() if key not in heard.kept]
    costs = [row["cost_usd"] for row in fresh]
    return Augmented(
        prepared.out if replies else None,
        sifted,
        len(fresh) + len(heard.failed),
        len(heard.kept),
        tuple(dict.fromkeys(excerpt(str(row["error_message"]), 300) for row in heard.failed.values())),
        None if None in costs else sum(costs),
        "scene" if isinstance(prepared.order, SceneOrder) else "template",
    )


def _sifted(prepared: Augmentation, heard: Heard, replies: Sequence[tuple[Any, str]]) -> tuple[Sifted, str]:
    """Replies that may be reviewed, and the review file's text (empty without a reply)."""
    wanted, asked = prepared.order, prepared.asked
    about = (prepared.target, asked, heard, prepared.catalog, prepared.temperature)
    overlay = Path(prepared.catalog.overlay) if prepared.catalog.overlay else None
    if isinstance(wanted, SceneOrder):
        scenes = sift_scenes(replies, wanted, overlay)
        return scenes, scene_review_text(
            wanted, scene_provenance(wanted, *about), scenes, asked
        ) if replies else ""
    sifted = sift(replies, wanted)
    return sifted, review_text(wanted, provenance(wanted, *about), sifted, asked) if replies else ""


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
        what = f"`{path}` exists, and may hold somebody's decisions"
        return [Problem(what, "--out", "name another file, or overwrite it with --force")]
    return []
