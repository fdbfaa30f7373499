"""Writes the review file: templates that a model wrote, with their provenance, for a person's decisions."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, Field, field_validator

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.augmentation import slug
from biasgrid.catalogs.schema.base import Frozen
from biasgrid.catalogs.schema.entries import Identifier, Language
from biasgrid.catalogs.schema.models import Target
from biasgrid.catalogs.text_safety import storable
from biasgrid.tasks.augment.ask import Asked, Heard
from biasgrid.tasks.augment.filter import Sifted
from biasgrid.tasks.augment.order import Order
from biasgrid.tasks.augment.scenes.order import SceneOrder
from biasgrid.tasks.augment.yaml_text import comment, dumped, listed_entry
from biasgrid.warehouse.hashing import content_hash

Decision = Literal["accept", "reject", "edit", "accepted"]
HEAD = """\
{Kind} that a model wrote, for review. None of them is in a library yet.

Decide on each, then run `biasgrid catalog accept` with this file:
  decision: accept   goes into your library as it stands here; change whatever you like first
  decision: reject   does not
  decision: edit     still needs work and waits here, as one without a decision does
A comment above a {one} is what the catalog check warns of. What was refused stands below the {kind}, with
why; to rescue one, mend it and put it among them. The prompts as sent stand last."""


class Provenance(Frozen):
    """Where templates come from: enough to ask the same again, and to find the replies in the lake."""

    model: str
    """provider/model, as asked."""
    model_reported: tuple[str, ...] = ()
    """What the provider says answered."""
    date: str
    """When the newest reply came, UTC."""
    finish_reasons: tuple[str, ...] = ()
    """Why each reply ended; `length` is one that was cut off."""
    context: str = ""
    scenario: str = ""
    seed: int | None = None
    temperature: float | None = None
    parameters: str = ""
    """As sent, JSON."""
    library: str = ""
    """Hash of the catalog files that the templates were compared with."""
    responses: tuple[str, ...] = ()
    """Ids of the replies in the lake."""
    prompts_sha256: tuple[str, ...] = ()
    """Of each prompt as sent."""


class ReviewFile(Frozen):
    provenance: Provenance
    language: Language
    concern: Identifier
    templates: tuple[dict[str, object], ...] = ()
    """Each a template entry with its `decision`, checked one by one."""
    refused: tuple[dict[str, object], ...] = ()
    """What became no template, and why."""
    prompts: tuple[str, ...] = ()
    """As sent."""


class SceneReviewFile(Frozen):
    provenance: Provenance
    language: Language
    domain: Identifier
    """That they were ordered for."""
    scenes: tuple[dict[str, object], ...] = ()
    """Each a scene with its `decision`, checked one by one."""
    refused: tuple[dict[str, object], ...] = ()
    prompts: tuple[str, ...] = ()
    """As sent."""


class Decided(Frozen):
    """What a person made of a template."""

    model_config = ConfigDict(extra="ignore")

    id: str = Field(min_length=1)
    decision: Decision | None = None

    @field_validator("decision", mode="before")
    @classmethod
    def _as_meant(cls, given: object) -> object:
        return (given.strip().lower() or None) if isinstance(given, str) else given


def default_path(order: Order, day: datetime) -> Path:
    """`review/<concern>-<language>-<context>-<date>.yaml`, in the working directory."""
    name = f"{order.concern.id}-{order.language.id}-{slug(order.context.id)}-{day:%Y-%m-%d}.yaml"
    return Path("review") / name


def scene_path(order: SceneOrder, day: datetime) -> Path:
    """The same for scenes: `review/scenes-<domain>-<language>-<date>.yaml`."""
    return Path("review") / f"scenes-{order.domain}-{order.language.id}-{day:%Y-%m-%d}.yaml"


def provenance(
    order: Order,
    target: Target,
    asked: Sequence[Asked[Any]],
    heard: Heard,
    catalog: Catalog,
    temperature: float | None,
) -> Provenance:
    """The provenance of these replies."""
    context = order.context.told(order.language.id)
    return _provenance(context, order.scenario, order.seed, target, asked, heard, catalog, temperature)


def scene_provenance(
    order: SceneOrder,
    target: Target,
    asked: Sequence[Asked[Any]],
    heard: Heard,
    catalog: Catalog,
    temperature: float | None,
) -> Provenance:
    """As `provenance`, for an order for scenes."""
    return _provenance(order.told, "", order.seed, target, asked, heard, catalog, temperature)


def _provenance(
    context: str,
    scenario: str,
    seed: int,
    target: Target,
    asked: Sequence[Asked[Any]],
    heard: Heard,
    catalog: Catalog,
    temperature: float | None,
) -> Provenance:
    replies = [heard.answered[each.key] for each in asked if each.key in heard.answered]
    return Provenance(
        model=target.model,
        model_reported=tuple(dict.fromkeys(row["model_reported"] for row in replies if row["model_reported"])),
        date=f"{max(row['received_at'] for row in replies):%Y-%m-%dT%H:%M:%SZ}",
        finish_reasons=tuple(row["finish_reason"] or "" for row in replies),
        context=context,
        scenario=scenario,
        seed=seed,
        temperature=temperature,
        parameters=asked[0].case["parameters"],
        library=content_hash(dict(catalog.hashes)),
        responses=tuple(row["response_id"] for row in replies),
        prompts_sha256=tuple(hashlib.sha256(each.text.encode()).hexdigest() for each in asked),
    )


def review_text(order: Order, origin: Provenance, sifted: Sifted, asked: Sequence[Asked[Any]]) -> str:
    """The whole review file; texts of the model are quoted."""
    about = {"language": order.language.id, "concern": order.concern.id}
    return _text("templates", about, origin, sifted, asked)


def scene_review_text(order: SceneOrder, origin: Provenance, sifted: Sifted, asked: Sequence[Asked[Any]]) -> str:
    """As `review_text`, for scenes."""
    return _text("scenes", {"language": order.language.id, "domain": order.domain}, origin, sifted, asked)


def _text(
    kind: str, about: Mapping[str, str], origin: Provenance, sifted: Sifted, asked: Sequence[Asked[Any]]
) -> str:
    entries = [
        listed_entry({"decision": None, **entry}, [f"warning: {note}" for note in notes])
        for entry, notes in zip(sifted.entries, sifted.warnings, strict=True)
    ]
    refused = [{"reason": storable(each.reason), "text": storable(each.text)} for each in sifted.refused]
    parts = [
        comment(HEAD.format(Kind=kind.capitalize(), kind=kind, one=kind.removesuffix("s"))),
        dumped({"provenance": _told(origin)}),
        dumped(about),
        f"{kind}:\n" + "\n\n".join(entries) + "\n" if entries else f"{kind}: []\n",
        dumped({"refused": refused}),
        dumped({"prompts": [each.text for each in asked]}),
    ]
    return "\n".join(parts)


def _told(origin: Provenance) -> Mapping[str, Any]:
    held = origin.model_dump(mode="json")
    return {key: value for key, value in held.items() if value not in ("", None, [])}
