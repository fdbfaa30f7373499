"""Builds the request for scenes in the language of the order."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from biasgrid.catalogs.schema.augmentation import filled
from biasgrid.catalogs.schema.scenes import Scene
from biasgrid.tasks.augment.scenes.order import SceneOrder, ScenePart

EXAMPLES = 2
CASTS = ((2, 2), (2, 1), (1, 2))
"""Number of people of each group."""


def scene_request(order: SceneOrder, part: ScenePart) -> str:
    """The whole message for one part, the same for the same order and catalog."""
    casts = (json.dumps(dict(zip(order.groups, cast, strict=True))) for cast in CASTS)
    parts = {
        "count": str(part.count),
        "domain": order.told,
        "axis": " / ".join(words.plural for words in order.groups.values()),
        "groups": "\n".join(f"- `{group}`: {words.plural}" for group, words in order.groups.items()),
        "casts": ", ".join(f"`{cast}`" for cast in casts),
        "examples": "\n".join(json.dumps(one, ensure_ascii=False) for one in _examples(order, part)) or "–",
        "order": _order(order, part),
    }
    return filled(order.wording.scenes, parts).strip()


def _examples(order: SceneOrder, part: ScenePart) -> list[dict[str, Any]]:
    """A few scenes of the axis in the requested form, selected by the seed."""
    fitting = [scene for scene in order.library if _is_example(scene, order)]
    draw = Random(f"scenes/{order.domain}/{order.seed}/{part.number}")  # noqa: S311 - no secret
    return [_as_asked(scene, order) for scene in draw.sample(fitting, min(EXAMPLES, len(fitting)))]


def _is_example(scene: Scene, order: SceneOrder) -> bool:
    own = scene.axis == order.axis and scene.question == "assignment"
    return own and bool(scene.cast) and not scene.is_control


def _as_asked(scene: Scene, order: SceneOrder) -> dict[str, Any]:
    language = order.language.id
    tasks = [{"to": task.to, "text": task.text[language]} for task in scene.tasks]
    return {"goal": scene.goal[language], "tasks": tasks, "cast": dict(scene.cast)}


def _order(order: SceneOrder, part: ScenePart) -> str:
    return json.dumps(
        {
            "order": "scenes",
            "language": order.language.id,
            "domain": order.domain,
            "groups": list(order.groups),
            "part": part.number,
            "count": part.count,
        }
    )
