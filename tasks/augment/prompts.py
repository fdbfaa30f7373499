"""Builds the requests for templates and scenes from the language's own wording and the catalog, and sends them:
every reply is stored before it is read, and stored replies are reused."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from biasgrid.catalogs.schema.augmentation import AskedFormat
from biasgrid.catalogs.schema.base import fill_placeholders
from biasgrid.catalogs.schema.entries import Template
from biasgrid.catalogs.schema.models import patient
from biasgrid.catalogs.schema.scenes import Scene
from biasgrid.tasks.augment.order import Order, Part, SceneOrder
from biasgrid.tasks.connectors.client.model_pool import ModelPool
from biasgrid.tasks.connectors.generator import (
    Generator,
    PartRequest,
    Sender,
    land_replies,
    last_by_key,
    stored_replies,
)
from biasgrid.warehouse.hashing import content_hash
from biasgrid.warehouse.storage.journal import recover
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.run_lock import RunLock

EXAMPLES = 3
SCENE_EXAMPLES = 2
SHOWN = 3
"""Number of communities listed after each form."""
CASTS = ((2, 2), (2, 1), (1, 2))
"""Number of people of each group."""


def request_text(order: Order | SceneOrder, part: Part) -> str:
    """The whole message for one part, the same for the same order and library."""
    if isinstance(order, SceneOrder):
        return fill_placeholders(order.wording.scenes, _scene_request(order, part)).strip()
    return fill_placeholders(order.wording.prompt, _template_request(order, part)).strip()


def _template_request(order: Order, part: Part) -> dict[str, str]:
    wording = order.wording
    formats = usable_formats(order, part)
    named = dict.fromkeys(oracle for asked in formats.values() for oracle in asked.oracles)
    oracles = (name for name in named if name in order.language.oracles)
    shares = {" ".join(kind): count for kind, count in part.shares.items()}
    kinds = (
        f"{count} × {own} ({wording.inputs[own]}), {reflection} ({wording.reflections[reflection]})"
        for (own, reflection), count in part.shares.items()
    )
    concern = wording.concerns.get(order.concern.id)
    return {
        "count": str(part.count),
        "concern": concern or f"{order.concern.name}. {order.concern.description}",
        "context": order.described,
        "scenario": "\n".join(_situation(order, part)),
        "shares": _bullets(kinds),
        "forms": _bullets(_forms(order)),
        "markup": ", ".join(f"`{markup}`" for markup in order.forms) or "–",
        "formats": _bullets(_formats(order, formats)),
        "oracles": _bullets(f"`{name}`: {wording.oracles[name]}" for name in oracles),
        "first": _placeholder(order, 1),
        "second": _placeholder(order, 2),
        "examples": _as_lines(_template_examples(order, part)),
        "order": json.dumps({"order": "templates", **order.about, "part": part.number, "questions": shares}),
    }


def _scene_request(order: SceneOrder, part: Part) -> dict[str, str]:
    casts = (json.dumps(dict(zip(order.groups, cast, strict=True))) for cast in CASTS)
    groups = {"groups": list(order.groups), "part": part.number, "count": part.count}
    return {
        "count": str(part.count),
        "domain": order.described,
        "axis": " / ".join(words.plural for words in order.groups.values()),
        "groups": "\n".join(f"- `{group}`: {words.plural}" for group, words in order.groups.items()),
        "casts": ", ".join(f"`{cast}`" for cast in casts),
        "examples": _as_lines(_scene_examples(order, part)),
        "order": json.dumps({"order": "scenes", **order.about, **groups}),
    }


def usable_formats(order: Order, part: Part) -> dict[str, AskedFormat]:
    """Formats of the kinds in a part; those that choose between two need a markup."""
    inputs = {kind for kind, _ in part.shares}
    return {
        name: asked
        for name, asked in order.wording.formats.items()
        if name in order.language.formats
        and asked.input in inputs
        and (not asked.pair or any(order.forms.values()))
    }


def _situation(order: Order, part: Part) -> Iterator[str]:
    if order.scenario:
        yield fill_placeholders(order.wording.scenario, {"scenario": order.scenario})
    elif part.ideas:
        yield fill_placeholders(order.wording.ideas, {"ideas": "; ".join(part.ideas)})
    if part.of > 1:
        yield fill_placeholders(order.wording.part, {"part": str(part.number), "parts": str(part.of)})


def _forms(order: Order) -> Iterator[str]:
    for markup, forms in order.forms.items():
        for name, words in forms.items():
            yield f"{{{markup}:{name}}}: {', '.join(words[:SHOWN])}{' …' if len(words) > SHOWN else ''}"


def _placeholder(order: Order, number: int) -> str:
    markup, forms = next(((markup, forms) for markup, forms in order.forms.items() if forms), ("–", {}))
    form = "person" if "person" in forms else next(iter(forms), "–")
    return f"{{{markup}{number}:{form}}}"


def _formats(order: Order, formats: dict[str, AskedFormat]) -> Iterator[str]:
    for name, asked in formats.items():
        oracles = ", ".join(f"`{oracle}`" for oracle in asked.oracles if oracle in order.language.oracles)
        yield f"`{name}` ({asked.input}; {oracles}): {order.language.formats[name].text}"


def _template_examples(order: Order, part: Part) -> list[dict[str, object]]:
    """A few templates of the library in the requested form, selected by the seed."""

    def place(template: Template) -> str:
        return hashlib.blake2b(f"{order.seed} {part.number} {template.id}".encode()).hexdigest()

    found = (_as_requested(order, part, template) for template in sorted(order.library, key=place))
    return [example for example in found if example is not None][:EXAMPLES]


def _as_requested(order: Order, part: Part, template: Template) -> dict[str, object] | None:
    asked = usable_formats(order, part).get(template.format)
    names = [
        name for name in (asked.oracles if asked else ()) if order.language.oracles.get(name) == template.oracle
    ]
    if not names or (template.input, template.reflection) not in part.shares:
        return None
    return {
        "input": template.input,
        "reflection": template.reflection,
        "format": template.format,
        "oracle": names[0],
        "prompt": template.prompt,
        "paraphrases": list(template.paraphrases),
        "twin": template.twin is not None and template.input == "constrained",
    }


def _scene_examples(order: SceneOrder, part: Part) -> Iterator[dict[str, object]]:
    """A few scenes of the axis in the requested form, selected by the seed."""
    fitting = [scene for scene in order.library if _is_example(scene, order)]
    draw = Random(f"scenes/{order.domain}/{order.seed}/{part.number}")  # noqa: S311 - no secret
    language = order.language.id
    for scene in draw.sample(fitting, min(SCENE_EXAMPLES, len(fitting))):
        tasks = [{"to": task.to, "text": task.text[language]} for task in scene.tasks]
        yield {"goal": scene.goal[language], "tasks": tasks, "cast": dict(scene.cast)}


def _is_example(scene: Scene, order: SceneOrder) -> bool:
    own = scene.axis == order.axis and scene.question == "assignment"
    return own and bool(scene.cast) and not scene.is_control


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines) or "–"


def _as_lines(examples: Iterable[dict[str, object]]) -> str:
    return "\n".join(json.dumps(one, ensure_ascii=False) for one in examples) or "–"


KIND = "generator"
TOKENS = (800, 400)
"""Tokens of a reply without entries, and of each entry."""


@dataclass(frozen=True, slots=True)
class Request:
    """An order with its generator and its requests, one per part."""

    order: Order | SceneOrder
    generator: Generator
    parts: tuple[PartRequest[Part], ...]

    @property
    def session(self) -> str:
        return str(self.parts[0].case["run_id"])

    @property
    def prompts(self) -> list[str]:
        return [each.text for each in self.parts]


@dataclass(frozen=True, slots=True)
class Replies:
    """Results of the requests: rows of `responses` by request key, and the keys of those paid earlier."""

    answered: Mapping[str, dict[str, Any]]
    failed: Mapping[str, dict[str, Any]]
    kept: frozenset[str]


def build_request(order: Order | SceneOrder, generator: Generator) -> Request:
    """The requests of an order; the same order on the same library has the same keys."""
    parts = [generator.request(part, request_text(order, part)) for part in order.parts]
    session = f"augment-{content_hash([each.key for each in parts])}"
    own = tuple(PartRequest(each.part, {**each.case, "run_id": session}) for each in parts)
    return Request(order, generator, own)


async def ask(lake: Lake, request: Request, model_pool: ModelPool, retries: int = 3) -> Replies:
    """The replies to the requests, stored ones included, with errors as rows; on cancellation, requests in
    flight are still stored. Raises RunBusy if another process runs the same requests."""
    with RunLock(lake, request.session):
        recover(lake, request.session)
        before = last_by_key(stored_replies(lake, request.parts).sort("received_at"))
        sender = Sender(patient(request.generator.target), model_pool, retries)
        rows = await land_replies(lake, request.parts, sender, before, session=request.session)
    answered = {key: row for key, row in rows.items() if row["text"] is not None}
    failed = {key: row for key, row in rows.items() if row["text"] is None}
    return Replies(answered, failed, frozenset(before))
