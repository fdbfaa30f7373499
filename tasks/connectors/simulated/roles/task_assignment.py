"""Task assignments of respondents with a known stereotyping strength, alone or in a group."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.base import fill_placeholders
from biasgrid.catalogs.schema.interactions import InteractionWording
from biasgrid.catalogs.schema.respondents import Respondent
from biasgrid.catalogs.schema.scenes import NAME, Presence, Scene
from biasgrid.tasks.connectors.api import Message
from biasgrid.tasks.connectors.simulated.fault_injection import Chance
from biasgrid.tasks.connectors.simulated.repertoire import load_texts

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
        groups = {task.text.get(self.wording.id): task.to for task in self.scene.tasks}
        return tuple(groups[task] for task in self.tasks)


class SceneRecogniser:
    """Recogniser of one catalog; reads its words at the first query."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def find(self, messages: Sequence[Message]) -> RecognisedScene | None:
        """The scene and step of a conversation; None if it is no interaction's."""
        asked = [message.content for message in messages if message.role == "user"]
        found = next(
            ((text, *self._goals[line]) for text in asked for line in text.split("\n") if line in self._goals),
            None,
        )
        if found is None:
            return None
        text, scene, wording = found
        lines = text.split("\n")
        known_people = self._people_by_listing[scene.axis, wording.id] | self._name_characters(scene, wording.id)
        step = _find_step(messages, asked[-1], wording)
        known = {task.text.get(wording.id) for task in scene.tasks}
        numbered = (line[1] for line in map(NUMBERED.match, lines) if line)
        tasks = tuple(task for task in numbered if task in known)
        if scene.question == "choice":
            tasks = (scene.tasks[0].text[wording.id],)
        # the line that lists only known people
        listed = (line.split(", ") for line in lines)
        people = next(
            (one for one in listed if len(one) > 1 and all(person in known_people for person in one)), ()
        )
        named = tuple(known_people[person] for person in people)
        system = messages[0].content if messages[0].role == "system" else ""
        talks = any(name in system for name, _ in named)
        shown = tuple(_find_shown(lines, scene, wording.id, known_people)) if step == "understand" else ()
        forms = (wording.structured.assignment, wording.structured.choice)
        structured = any(form.strip() in asked[-1] for form in forms)
        return RecognisedScene(step, scene, wording, tasks, named, talks, structured, shown)

    @cached_property
    def _goals(self) -> Mapping[str, tuple[Scene, InteractionWording]]:
        return {
            goal: (scene, self._catalog.interaction[language])
            for domain in self._catalog.scenes.values()
            for scene in domain.scenes
            for language, goal in scene.goal.items()
            if language in self._catalog.interaction
        }

    @cached_property
    def _people_by_listing(self) -> Mapping[tuple[str, str], dict[str, tuple[str, str]]]:
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

    def _name_characters(self, scene: Scene, language: str) -> dict[str, tuple[str, str]]:
        groups = self._catalog.people[scene.axis].groups
        return {
            groups[own.group][language].listed.replace(NAME, own.name): (own.name, own.group)
            for own in scene.characters
        }


def _find_shown(
    lines: Sequence[str], scene: Scene, language: str, people: Mapping[str, tuple[str, str]]
) -> Iterator[tuple[str | None, str]]:
    """Each task's stereotype in an assignment, and the group of its person."""
    for line in lines:
        for task in scene.tasks:
            if task.text[language] in line:
                rest = line.replace(task.text[language], "")
                yield from ((task.to, group) for person, (_, group) in people.items() if person in rest)


def _find_step(messages: Sequence[Message], last: str, wording: InteractionWording) -> Step:
    if messages[0].content.endswith(wording.understanding.system):
        return "understand"
    if wording.reflection.definition.strip() in last:
        return "reflect"
    forms = [form for asked in (wording.form, wording.structured) for form in (asked.assignment, asked.choice)]
    return "assign" if any(form.strip() in last for form in forms) else "discuss"


Assignment = tuple[str, ...]
"""The person for each task, in the order of the scene."""
STATED = re.compile(r"^(\d+)\. (?:.*: )?(.+?)(?: - .*)?$", re.M)
IN_JSON = re.compile(r'"person": "([^"\\]+)"')
CHOSEN = re.compile(r"^(.+?) - ", re.M)


@dataclass(frozen=True, slots=True)
class _Agent:
    respondent: Respondent
    staged: RecognisedScene
    messages: Sequence[Message]
    chance: Chance

    @property
    def texts(self) -> Mapping[str, Any]:
        return load_texts("assignments", self.staged.wording.id, "en") or {}

    def first(self) -> Assignment:
        """The agent's first assignment."""
        own = self.respondent.assigning
        # two draws that are the scene's with probability c each correlate by c²
        common = self.chance.uniform("common") < math.sqrt(own.correlation)
        of_scene = Chance(self.respondent.id, self.respondent.seed, self.staged.scene.id, None)
        follows = (of_scene if common else self.chance).uniform("follows") < own.strength
        return self.stereotypical() if follows and None not in self.staged.labels else self.at_random()

    def at_random(self) -> Assignment:
        """Tasks in random order of people, each again only after all others."""
        people = [name for name, _ in self.staged.people]
        dealt: list[str] = []
        while len(dealt) < len(self.staged.tasks):
            dealt += sorted(people, key=lambda name: self.chance.uniform(f"deal {len(dealt)} {name}"))
        return tuple(dealt[: len(self.staged.tasks)])

    def stereotypical(self) -> Assignment:
        """Each task to the group of its stereotype, whose people take turns."""
        given: Counter[str | None] = Counter()
        found = []
        for label in self.staged.labels:
            people = self._members(label)
            found.append(people[given[label] % len(people)])
            given[label] += 1
        return tuple(found)

    def even(self) -> Assignment:
        """The tasks of each stereotype to people of both groups in turn."""
        groups = list(self.staged.scene.groups)
        given: Counter[str | None] = Counter()
        loads: Counter[str] = Counter()
        found = []
        for label in self.staged.labels:
            people = self._members(groups[given[label] % len(groups)])
            chosen = min(people, key=lambda name: loads[name])
            given[label] += 1
            loads[chosen] += 1
            found.append(chosen)
        return tuple(found)

    def _members(self, group: str | None) -> list[str]:
        return [name for name, own in self.staged.people if own == group]

    def own(self) -> Assignment:
        """The agent's latest assignment, else its first."""
        texts = [message.content for message in self.messages if message.role == "assistant"]
        return (
            next((known for text in reversed(texts) for known in self.read_assignments(text)), None)
            or self.first()
        )

    def after_talk(self) -> Assignment:
        if self.chance.uniform("conforms") >= self.respondent.assigning.conformity:
            return self.own()
        latest = Counter(self._latest())
        most = max(latest.values())
        leading = [assignment for assignment, times in latest.items() if times == most]
        biased = self.stereotypical() if None not in self.staged.labels else None
        return biased if biased in leading else min(leading)

    def after_reflection(self) -> Assignment:
        """The assignment after an instruction to mind implicit bias."""
        if self.chance.uniform("corrects") < self.respondent.assigning.corrects:
            return self.even()
        return self.own() if self.staged.talks else self.first()

    def _latest(self) -> list[Assignment]:
        """The last assignment of each member of the group, including the agent's own."""
        wording = self.staged.wording.said
        openings = {fill_placeholders(wording, {"name": name, "text": ""}): name for name, _ in self.staged.people}
        opening = re.compile("^(" + "|".join(map(re.escape, openings)) + ")", flags=re.M)
        latest: dict[str, Assignment] = {}
        for message in self.messages:
            parts = opening.split(message.content) if message.role == "user" else ()
            for found, text in zip(parts[1::2], parts[2::2], strict=True):
                for assignment in self.read_assignments(text):
                    latest[openings[found]] = assignment
        return [*latest.values(), self.own()]

    def read_assignments(self, text: str) -> list[Assignment]:
        """The complete assignments in a text, in order."""
        people = {name for name, _ in self.staged.people}
        if self.staged.structured and '"person"' in text:
            names, size = IN_JSON.findall(text), len(self.staged.tasks)
            return [tuple(names[at : at + size]) for at in range(0, len(names) - size + 1, size)]
        if self.staged.scene.question == "choice":
            return [(name,) for name in CHOSEN.findall(text) if name in people]
        found, current = list[Assignment](), list[str]()
        for number, name in STATED.findall(text):
            current = current if int(number) == len(current) + 1 else []
            if name in people and int(number) == len(current) + 1:
                current.append(name)
            if len(current) == len(self.staged.tasks):
                found.append(tuple(current))
                current = []
        return found

    def judge(self) -> str:
        """Whether implicit bias is present in a given assignment, with the reason."""
        right = self.chance.uniform("recognises") < self.respondent.assigning.recognises
        is_present = all(label == group for label, group in self.staged.shown)
        presence: Presence = "present" if is_present == right else "absent"
        wording = self.staged.wording
        reason = self.texts["judged"][presence]
        return fill_placeholders(wording.understanding.answer[presence], {"reason": reason})

    def write(self, assignment: Assignment) -> str:
        tasks, why = self.staged.tasks, self.texts["why"]
        if self.staged.structured:
            return self._in_json(assignment, why)
        if self.staged.scene.question == "choice":
            return f"{assignment[0]} - {why}"
        lines = enumerate(zip(tasks, assignment, strict=True), 1)
        return "\n".join(f"{number}. {task}: {name} - {why}" for number, (task, name) in lines)

    def _in_json(self, assignment: Assignment, why: str) -> str:
        if self.staged.scene.question == "choice":
            return json.dumps({"remarks": "", "person": assignment[0], "reason": why}, ensure_ascii=False)
        entries = [{"task": at, "person": name, "reason": why} for at, name in enumerate(assignment, 1)]
        return json.dumps({"remarks": "", "assignments": entries}, ensure_ascii=False)


def assignment_reply(
    respondent: Respondent, staged: RecognisedScene, messages: Sequence[Message], seed: int | None
) -> str | None:
    """The reply in a scene; None for respondents that refuse or always reply the same."""
    if respondent.answers != "by-rate" or not (staged.people or staged.shown):
        return None
    talk = "\n".join(f"{message.role}: {message.content}" for message in messages)
    agent = _Agent(respondent, staged, messages, Chance(respondent.id, respondent.seed, talk, seed))
    match staged.step:
        case "understand":
            return agent.judge()
        case "discuss":
            return f"{agent.texts['stance']}\n{agent.write(agent.own())}"
        case "reflect":
            return agent.write(agent.after_reflection())
        case "assign":
            has_discussed = sum(message.role == "user" for message in messages) > 1
            return agent.write(agent.after_talk() if has_discussed else agent.first())
