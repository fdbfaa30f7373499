"""Defines scenes in which people share out tasks, and the people: groups of one axis with their names."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from biasgrid.catalogs.choices import Variant as Variant
from biasgrid.catalogs.schema.base import Frozen, Identifier, Language, Text, find_repeated

NAME = "{name}"
FEWEST = 6
"""Names of a group in a culture: a scene's people are drawn from them without one twice."""


def _holds_the_name(text: str) -> str:
    if text.count(NAME) != 1:
        raise ValueError("holds `{name}` once")
    return text


Named = Annotated[Text, AfterValidator(_holds_the_name)]


class GroupOfPeople(Frozen):
    """A group in one language."""

    plural: Text
    """As reports call it: `men`."""
    listed: Named = NAME
    """How a scene lists one of them: `{name} (man)`, or `{name}` alone where the name suffices."""
    persona: Named = NAME
    """Who they are, for one of them: `{name}, a man`."""
    names: dict[Identifier, tuple[Text, ...]]
    """By culture: all people of a scene are drawn from one, so that nothing but the group distinguishes them."""

    @field_validator("names")
    @classmethod
    def _are_enough(cls, names: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        for culture, own in names.items():
            if len({name.casefold() for name in own}) < max(FEWEST, len(own)):
                raise ValueError(f"`{culture}` needs {FEWEST} names or more, none of them twice")
        return names


class People(Frozen):
    """The groups of one axis."""

    id: Identifier
    """gender, age, ethnicity, …"""
    concern: Identifier
    """The concern that its findings count to."""
    description: str = ""
    source: Text
    """Where names and what they indicate come from."""
    groups: dict[Identifier, dict[Language, GroupOfPeople]] = Field(min_length=2, max_length=2)

    @model_validator(mode="after")
    def _share_their_cultures(self) -> Self:
        first, second = self.groups.values()
        if set(first) != set(second):
            raise ValueError("`groups` have different languages")
        for language in first:
            if set(first[language].names) != set(second[language].names):
                raise ValueError(f"`groups` have names of different cultures in `{language}`")
        return self

    @property
    def languages(self) -> set[str]:
        return set(next(iter(self.groups.values())))


Translated = Annotated[dict[Language, Text], Field(min_length=1)]
"""The same in each language, written natively."""
Question = Literal["assignment", "choice"]
"""assignment: who does each task; choice: who is the one, such as the team's lead."""
MOST_PEOPLE = 8


class SceneTask(Frozen):
    to: Identifier | None
    """The group that a stereotype gives it to; null in a control, which has no stereotype."""
    text: Translated
    """In the infinitive, as one would list it: `Repair the projector`."""


class Character(Frozen):
    """A person whom a scene names itself, as imported ones do."""

    name: Text
    group: Identifier
    inferred: bool = Field(default=False, exclude_if=lambda given: not given)
    """The group follows from the other people of the scene and is not confirmed: the scene is not played."""


class Scene(Frozen):
    id: Identifier
    """The same in every language, such as `office-conference-call`."""
    axis: Identifier = "gender"
    """Of catalogs/people: in what its people differ."""
    question: Question = "assignment"
    goal: Translated
    """What is to be done, in one or two sentences that do not indicate who should do what."""
    tasks: tuple[SceneTask, ...] = Field(min_length=1, max_length=6)
    """Of a choice one: what is decided, with the group that the stereotype would choose."""
    cast: dict[Identifier, Annotated[int, Field(ge=1)]] = Field(default_factory=dict)
    """How many people of each group, whose names are drawn by seed."""
    characters: tuple[Character, ...] = ()
    """In place of `cast`: people with names of their own."""
    source: str = ""
    """Who wrote and accepted it, where a model did."""
    labels_doubtful: bool = Field(default=False, exclude_if=lambda given: not given)
    """The stereotypes of its tasks follow from their order, and the words suggest others: the scene is not played
    until `to` is checked and this is removed."""

    @model_validator(mode="after")
    def _hangs_together(self) -> Self:
        if bool(self.cast) == bool(self.characters):
            raise ValueError("has either a `cast` or `characters`")
        if len(self.groups) != 2 or not 2 <= sum(self.groups.values()) <= MOST_PEOPLE:
            raise ValueError(f"needs people of two groups, {MOST_PEOPLE} at most")
        if find_repeated(character.name.casefold() for character in self.characters):
            raise ValueError("`characters` have a name twice")
        if find_repeated(
            (language, text.casefold()) for task in self.tasks for language, text in task.text.items()
        ):
            raise ValueError("`tasks` say the same twice")
        labels = {task.to for task in self.tasks}
        if labels - {None} - set(self.groups):
            raise ValueError("`tasks` are of groups that take no part")
        if None in labels and len(labels) > 1:
            raise ValueError("`tasks` have stereotypes or none: a control has none at all")
        if (self.question == "choice") != (len(self.tasks) == 1):
            raise ValueError("one task is a `choice`, several are an `assignment`")
        if self.question == "assignment" and labels != {None} and labels != set(self.groups):
            raise ValueError("needs tasks of either group's stereotype")
        if not self.languages:
            raise ValueError("is written in full in no language")
        return self

    @property
    def is_confirmed(self) -> bool:
        """Whether the group of each person was stated, not inferred, and no label is doubtful."""
        return not (self.labels_doubtful or any(person.inferred for person in self.characters))

    @property
    def groups(self) -> dict[str, int]:
        """Number of people per group."""
        return dict(self.cast) or dict(Counter(character.group for character in self.characters))

    @property
    def is_control(self) -> bool:
        """Whether no task has a stereotype, so that a score other than the random one is an artefact."""
        return all(task.to is None for task in self.tasks)

    @property
    def languages(self) -> set[str]:
        """Languages of the goal and of every task."""
        return set(self.goal).intersection(*(task.text for task in self.tasks))


class Domain(Frozen):
    """The scenes of one domain."""

    id: Identifier
    """family, office, hospital, politics, law_enforcement, school, team_dynamics, media, planning, …"""
    description: str = ""
    held_out: bool = False
    """Whether it is kept for testing mitigation: no model is tuned on it, and runs ask for it by name."""
    by_name: bool = False
    """Whether runs play its scenes only where they name the domain, as they do those that are held out: controls,
    a case study."""
    scenes: tuple[Scene, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _names_each_once(self) -> Self:
        if twice := sorted(find_repeated(scene.id for scene in self.scenes)):
            raise ValueError(f"`scenes` hold `{'`, `'.join(twice)}` twice")
        return self


def tally(domains: Mapping[str, Domain]) -> Iterator[dict[str, Any]]:
    """One row per domain × axis × language: counts of scenes, controls, choices, people and tasks by group."""
    for domain in sorted(domains.values(), key=lambda domain: domain.id):
        for axis in sorted({scene.axis for scene in domain.scenes}):
            own = [scene for scene in domain.scenes if scene.axis == axis]
            for language in sorted(set[str]().union(*(scene.languages for scene in own))):
                named = {"domain": domain.id, "axis": axis, "language": language}
                kept = {"held_out": domain.held_out, "by_name": domain.by_name}
                yield named | kept | _tally([scene for scene in own if language in scene.languages])


def _tally(scenes: Collection[Scene]) -> dict[str, Any]:
    groups = sorted({group for scene in scenes for group in scene.groups})
    people = sum((Counter(scene.groups) for scene in scenes), Counter())
    tasks = Counter(task.to for scene in scenes for task in scene.tasks)
    return {
        "scenes": len(scenes),
        "controls": sum(scene.is_control for scene in scenes),
        "choices": sum(scene.question == "choice" for scene in scenes),
        "people": {group: people[group] for group in groups},
        "tasks": {group: tasks[group] for group in groups},
    }


Presence = Literal["present", "absent"]
"""Of implicit bias in an assignment."""


class Reasons(Frozen):
    """Why an assignment of a scene's tasks shows implicit bias, or does not. Neither names people: tasks and
    groups are enough, and names are drawn."""

    present: dict[Language, Text]
    """Where every task goes to the group that its stereotype gives it to."""
    absent: dict[Language, Text]
    """Where the tasks of each stereotype go to people of both groups."""

    @model_validator(mode="after")
    def _have_the_same_languages(self) -> Self:
        if set(self.present) != set(self.absent):
            raise ValueError("`present` and `absent` are in different languages")
        return self


class WholeText(Frozen):
    """An assignment in a text of its own, as imported ones are: people, tasks and all."""

    presence: Presence
    text: Translated
    reason: Translated


class Tuning(Frozen):
    """The assignments of one domain's scenes."""

    id: Identifier
    """The domain of catalogs/scenes; a name of their own for whole texts alone."""
    scenes: dict[Identifier, Reasons] = Field(default_factory=dict)
    """By scene."""
    examples: tuple[WholeText, ...] = ()
    """In addition to the scenes, or in place of them."""

    @model_validator(mode="after")
    def _holds_something(self) -> Self:
        if not self.scenes and not self.examples:
            raise ValueError("needs `scenes` or `examples`")
        return self
