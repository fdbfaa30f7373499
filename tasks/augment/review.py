"""Writes the review file: templates that a model wrote, with their provenance, for a person's decisions."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, Field, field_validator

from biasgrid.catalogs.schema.base import Frozen, Identifier, Language
from biasgrid.catalogs.text_safety import storable
from biasgrid.tasks.augment.filter import Filtered
from biasgrid.tasks.augment.order import Order, SceneOrder
from biasgrid.tasks.augment.prompts import Replies, Request
from biasgrid.tasks.augment.yaml_text import comment, dump, list_entry
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
    """Where entries come from: enough to send the order again, and to find the replies in the lake."""

    model: str
    """provider/model, as requested."""
    model_reported: tuple[str, ...] = ()
    """Name that the provider reported."""
    date: str
    """Arrival of the newest reply, UTC."""
    finish_reasons: tuple[str, ...] = ()
    """Why each reply ended; `length` is one that was cut off."""
    context: str = ""
    scenario: str = ""
    seed: int | None = None
    temperature: float | None = None
    parameters: str = ""
    """As sent, JSON."""
    library: str = ""
    """Hash of the catalog files that the entries were compared with."""
    responses: tuple[str, ...] = ()
    """Ids of the replies in the lake."""
    prompts_sha256: tuple[str, ...] = ()
    """Of each prompt as sent."""


class _File(Frozen):
    provenance: Provenance
    language: Language
    refused: tuple[dict[str, object], ...] = ()
    """Rejected texts of the replies, with reasons."""
    prompts: tuple[str, ...] = ()
    """As sent."""


class ReviewFile(_File):
    concern: Identifier
    templates: tuple[dict[str, object], ...] = ()
    """Template entries, each with its `decision`, checked one by one."""


class SceneReviewFile(_File):
    domain: Identifier
    scenes: tuple[dict[str, object], ...] = ()
    """Scenes, each with its `decision`, checked one by one."""


class Decided(Frozen):
    """A person's decision on an entry."""

    model_config = ConfigDict(extra="ignore")

    id: str = Field(min_length=1)
    decision: Decision | None = None

    @field_validator("decision", mode="before")
    @classmethod
    def _normalise(cls, given: object) -> object:
        return (given.strip().lower() or None) if isinstance(given, str) else given


def default_path(order: Order | SceneOrder, day: datetime) -> Path:
    """`review/<concern>-<language>-<context>-<date>.yaml` or `review/scenes-<domain>-<language>-<date>.yaml`."""
    return Path("review") / f"{order.name}-{day:%Y-%m-%d}.yaml"


def describe_origin(request: Request, replies: Replies) -> Provenance:
    """The provenance of the entries in these replies."""
    order, generator = request.order, request.generator
    rows = [replies.answered[each.key] for each in request.parts if each.key in replies.answered]
    return Provenance(
        model=generator.target.model,
        model_reported=tuple(dict.fromkeys(row["model_reported"] for row in rows if row["model_reported"])),
        date=f"{max(row['received_at'] for row in rows):%Y-%m-%dT%H:%M:%SZ}",
        finish_reasons=tuple(row["finish_reason"] or "" for row in rows),
        context=order.described,
        scenario=order.scenario,
        seed=order.seed,
        temperature=generator.temperature,
        parameters=request.parts[0].case["parameters"],
        library=content_hash(dict(generator.catalog.hashes)),
        responses=tuple(row["response_id"] for row in rows),
        prompts_sha256=tuple(hashlib.sha256(text.encode()).hexdigest() for text in request.prompts),
    )


def review_text(
    order: Order | SceneOrder, origin: Provenance, found: Filtered, prompts: Sequence[str] = ()
) -> str:
    """The whole review file; texts of the model are quoted."""
    kind = "scenes" if isinstance(order, SceneOrder) else "templates"
    entries = [
        list_entry({"decision": None, **entry}, [f"warning: {note}" for note in notes])
        for entry, notes in zip(found.entries, found.warnings, strict=True)
    ]
    refused = [{"reason": storable(each.reason), "text": storable(each.text)} for each in found.refused]
    provenance = origin.model_dump(mode="json")
    parts = [
        comment(HEAD.format(Kind=kind.capitalize(), kind=kind, one=kind.removesuffix("s"))),
        dump({"provenance": {key: value for key, value in provenance.items() if value not in ("", None, [])}}),
        dump(order.about),
        f"{kind}:\n" + "\n\n".join(entries) + "\n" if entries else f"{kind}: []\n",
        dump({"refused": refused}),
        dump({"prompts": list(prompts)}),
    ]
    return "\n".join(parts)
