"""A play: one scene with its people, tasks and rounds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from biasgrid.catalogs.choices import Mitigation, Setting
from biasgrid.catalogs.schema.interactions import Audience, InteractionWording
from biasgrid.catalogs.schema.scenes import NAME, Presence, Question, Scene
from biasgrid.catalogs.schema.target_file import TALKING
from biasgrid.tasks.connectors.replaying_client import Participant, TurnPosition

Speaking = Literal["assignment", "reflection", "discussion"]
LONE_SPEAKER: Final = "assistant"
"""Speaker of plays without interaction: the model itself."""


@dataclass(frozen=True, slots=True)
class Person:
    """A person of a scene, and the model that plays them."""

    name: str
    group: str
    listed: str
    persona: str
    party: Participant


@dataclass(frozen=True, slots=True)
class Task:
    """A task as worded in the play."""

    text: str
    to: str | None


@dataclass(frozen=True, slots=True)
class Turn:
    """One round of a play."""

    id: str
    kind: Speaking
    reads: Audience


@dataclass(frozen=True, slots=True)
class Judged:
    """An assignment that a model is to judge for implicit bias."""

    question: str
    presence: Presence
    """The correct answer."""


@dataclass(frozen=True, slots=True)
class Play:
    """One play; its `id` follows from scene, wording, seed, number and player, the same in every run."""

    id: str
    run_id: str
    cell_id: str
    template_id: str
    player: str
    domain: str
    concern: str
    scene: Scene
    wording: InteractionWording
    setting: Setting
    mitigation: Mitigation
    number: int
    """Number of the run of its scene, from 1."""
    people: tuple[Person, ...]
    """In the order in which they are listed and speak."""
    tasks: tuple[Task, ...]
    turns: tuple[Turn, ...]
    protocol: str
    facets: Mapping[str, Any]
    """Attributes for the marts, stored in `cases`."""
    memory: int | None = None
    wish: int | None = None
    """Number of the task, from 1, that all agents privately want."""
    system: str | None = None
    judged: Judged | None = None
    """Set if an assignment is judged instead of a scene played."""

    @property
    def talks(self) -> bool:
        """Whether agents interact; otherwise one model answers alone."""
        return self.setting in TALKING

    @property
    def question(self) -> Question:
        return self.scene.question

    @property
    def speakers(self) -> tuple[Person, ...]:
        """The people that reply in a round."""
        return self.people if self.talks else self.people[:1]

    @property
    def requests(self) -> int:
        """Number of requests if every agent replies."""
        return len(self.turns) * len(self.speakers)

    def place(self, turn: int, person: Person) -> TurnPosition:
        return TurnPosition(self.run_id, self.cell_id, self.id, turn, self.speaker_name(person))

    def speaker_name(self, person: Person) -> str:
        """Name of the speaker; `assistant` without interaction."""
        return person.name if self.talks else LONE_SPEAKER


def fill_name(form: str, name: str) -> str:
    """A person in the form of a group's `listed` or `persona`."""
    return form.replace(NAME, name)


def assigning_rounds(turns: Iterable[Turn]) -> Iterator[str]:
    """The rounds whose replies are assignments."""
    return (turn.id for turn in turns if turn.kind != "discussion")
