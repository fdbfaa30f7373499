"""Turns an object that a model wrote into a scene for review, or into the reasons why it is invalid."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from biasgrid.catalogs.lint.language.language_rules import NAMES, foreign_tongue
from biasgrid.catalogs.schema.scenes import Scene
from biasgrid.catalogs.text_safety import excerpt
from biasgrid.tasks.augment.candidate import Candidate, misfits, parsed
from biasgrid.tasks.augment.scenes.order import SceneOrder
from biasgrid.tasks.augment.similarity import Known
from biasgrid.tasks.augment.texts import troubles
from biasgrid.tasks.connectors.json_objects import RejectedText

SHORTEST_TASK = 5
"""Minimum characters of a task."""


class WrittenTask(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    to: str
    text: str


class WrittenScene(BaseModel):
    """A scene as a model is asked to write it: these keys, of these types, and no others."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    goal: str
    tasks: tuple[WrittenTask, ...]
    cast: dict[str, Annotated[int, Field(ge=1)]]


def scene_candidate(given: Mapping[str, Any], order: SceneOrder) -> Candidate | RejectedText:
    """The scene for an object of a reply, or all its errors."""
    read = parsed(given, WrittenScene)
    if isinstance(read, RejectedText):
        return read
    text, written = read
    entry = _entry(written, order)
    wrong = [*_wrong(written, order), *_misshapen(entry)]
    return RejectedText(text, "; ".join(wrong)) if wrong else Candidate(text, entry)


def scene_texts(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """Goal and tasks as one text, since scenes with one goal may differ in their tasks."""
    told = [entry["goal"], *(task["text"] for task in entry["tasks"])]
    return (" ".join(next(iter(text.values())) for text in told),)


def known_scenes(scenes: Sequence[Scene], language: str) -> Known:
    """Scenes by their texts in a language."""
    found = Known()
    for scene in scenes:
        found.add(scene.id, " ".join([scene.goal[language], *(task.text[language] for task in scene.tasks)]))
    return found


def _wrong(written: WrittenScene, order: SceneOrder) -> Iterator[str]:
    labels = Counter(task.to for task in written.tasks)
    strange = sorted({*labels, *written.cast} - set(order.groups))
    if strange:
        named = ", ".join(f"`{excerpt(name, 40)}`" for name in strange)
        yield f"names {named}, no group of axis `{order.axis}`"
    elif dict(labels) != written.cast:
        yield "has other numbers of people than of tasks with their group's label"
    for number, text in enumerate((written.goal, *(task.text for task in written.tasks))):
        where, shortest = (f"task {number}", SHORTEST_TASK) if number else ("the goal", 15)
        yield from (f"{where} {trouble}" for trouble in troubles(text, {}, shortest))
    other = foreign_tongue(" ".join(task.text for task in written.tasks), order.language.id.partition("_")[0])
    if other is not None:
        yield f"is {NAMES.get(other, other)}, not {order.language.name}"


def _misshapen(entry: Mapping[str, Any]) -> Iterator[str]:
    """Errors by the scene's own rules; an invalid scene would make its whole file unreadable."""
    try:
        Scene.model_validate({"id": "new", **entry})
    except ValidationError as error:
        yield from misfits(error)


def _entry(written: WrittenScene, order: SceneOrder) -> dict[str, Any]:
    language = order.language.id
    return {
        "axis": order.axis,
        "goal": {language: written.goal},
        "tasks": [{"to": task.to, "text": {language: task.text}} for task in written.tasks],
        "cast": dict(written.cast),
    }
