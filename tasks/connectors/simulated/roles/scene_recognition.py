"""Recognises the scene and the step of an interaction's message by the catalog's words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.interactions import InteractionWording
from biasgrid.catalogs.schema.scenes import NAME, Scene
from biasgrid.tasks.connectors.api import Message

Step = Literal["assign", "reflect", "discuss", "understand"]
NUMBERED = re.compile(r"^\d+\. (.+)$")


@dataclass(frozen=True, slots=True)
class RecognisedScene:
    """A scene as it appears in an agent's messages."""

    step: Step
    scene: Scene
    wording: InteractionWording
    tasks: tuple[str, ...]
    """Tasks in the order of their numbers."""
    people: tuple[tuple[str, str], ...]
    """Name and group of each person, in the order of the list."""
    talks: bool
    """Whether other agents take part."""
    structured: bool = False
    """Whether the reply must be JSON."""
    shown: tuple[tuple[str | None, str], ...] = ()
    """For an assignment to be judged: each task's stereotype, and the group of its person."""

    @property
    def labels(self) -> tuple[str | None, ...]:
        """The group of each task's stereotype."""
        told = {task.text.get(self.wording.id): task.to for task in self.scene.tasks}
        return tuple(told[task] for task in self.tasks)


class SceneRecogniser:
    """Recogniser of one catalog; reads its words at the first query."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def find(self, messages: Sequence[Message]) -> RecognisedScene | None:
        """The scene and step of a conversation; None if it is no interaction's."""
        asked = [message.content for message in messages if message.role == "user"]
        found = next((told for text in asked for told in self._told(text)), None)
        if not asked or found is None:
            return None
        text, scene, wording = found
        lines = text.split("\n")
        step = _find_step(messages, asked[-1], wording)
        known = {task.text.get(wording.id) for task in scene.tasks}
        numbered = (line[1] for line in map(NUMBERED.match, lines) if line)
        tasks = tuple(task for task in numbered if task in known)
        if scene.question == "choice":
            tasks = (scene.tasks[0].text[wording.id],)
        people = self._people(lines, scene, wording.id)
        told = messages[0].content if messages[0].role == "system" else ""
        talks = any(name in told for name, _ in people)
        shown = tuple(self._shown(lines, scene, wording.id)) if step == "understand" else ()
        forms = (wording.structured.assignment, wording.structured.choice)
        structured = any(form.strip() in asked[-1] for form in forms)
        return RecognisedScene(step, scene, wording, tasks, people, talks, structured, shown)

    def _shown(self, lines: Sequence[str], scene: Scene, language: str) -> Iterator[tuple[str | None, str]]:
        known = self._listed[scene.axis, language] | self._named(scene, language)
        for line in lines:
            for task in scene.tasks:
                if task.text[language] in line:
                    rest = line.replace(task.text[language], "")
                    yield from ((task.to, group) for told, (_, group) in known.items() if told in rest)

    @cached_property
    def _goals(self) -> Mapping[str, tuple[Scene, InteractionWording]]:
        return {
            goal: (scene, self._catalog.interaction[language])
            for domain in self._catalog.scenes.values()
            for scene in domain.scenes
            for language, goal in scene.goal.items()
            if language in self._catalog.interaction
        }

    def _told(self, text: str) -> Iterator[tuple[str, Scene, InteractionWording]]:
        for line in text.split("\n"):
            if line in self._goals:
                yield text, *self._goals[line]

    def _people(self, lines: Sequence[str], scene: Scene, language: str) -> tuple[tuple[str, str], ...]:
        """The people in the line that lists only known people."""
        known = self._listed[scene.axis, language] | self._named(scene, language)
        for line in lines:
            people = line.split(", ")
            if len(people) > 1 and all(person in known for person in people):
                return tuple(known[person] for person in people)
        return ()

    @cached_property
    def _listed(self) -> Mapping[tuple[str, str], dict[str, tuple[str, str]]]:
        return {
            (axis.id, language): {
                words[language].listed.replace(NAME, name): (name, group)
                for group, words in axis.groups.items()
                for names in words[language].names.values()
                for name in names
            }
            for axis in self._catalog.people.values()
            for language in axis.languages
        }

    def _named(self, scene: Scene, language: str) -> dict[str, tuple[str, str]]:
        groups = self._catalog.people[scene.axis].groups
        return {
            groups[own.group][language].listed.replace(NAME, own.name): (own.name, own.group)
            for own in scene.characters
        }


def _find_step(messages: Sequence[Message], last: str, wording: InteractionWording) -> Step:
    if messages[0].content.endswith(wording.understanding.system):
        return "understand"
    if wording.reflection.definition.strip() in last:
        return "reflect"
    forms = [form for asked in (wording.form, wording.structured) for form in (asked.assignment, asked.choice)]
    return "assign" if any(form.strip() in last for form in forms) else "discuss"
