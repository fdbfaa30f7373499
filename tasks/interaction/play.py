"""A play: one scene, cast and told, with the rounds in which its people speak."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from biasgrid.catalogs.schema.interaction_file import TALKING, Mitigation, Setting
from biasgrid.catalogs.schema.interactions import Hears, InteractionWording
from biasgrid.catalogs.schema.scenes import NAME, Presence, Question, Scene
from biasgrid.tasks.connectors.replaying_client import Participant, TurnPosition

Speaking = Literal["assignment", "reflection", "discussion"]
NOBODY: Final = "assistant"
"""Who speaks where nobody of the scene does: the model itself."""


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody of a scene, and which of the player's models speaks as them."""

    name: str
    group: str
    listed: str
    persona: str
    party: Participant


@dataclass(frozen=True, slots=True)
class Told:
    """A task as the play tells it."""

    text: str
    to: str | None


@dataclass(frozen=True, slots=True)
class Turn:
    """One round of a play."""

    id: str
    kind: Speaking
    hears: Hears


@dataclass(frozen=True, slots=True)
class Judged:
    """An assignment of which a model is to say whether it shows implicit bias."""

    question: str
    presence: Presence
    """The truth."""


@dataclass(frozen=True, slots=True)
class Play:
    """`id` follows from scene, wording, seed, number and player: the same in every run."""

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
    """Which run of its scene, from 1."""
    people: tuple[Person, ...]
    """In the order in which they are listed, and speak."""
    tasks: tuple[Told, ...]
    turns: tuple[Turn, ...]
    protocol: str
    facets: Mapping[str, Any]
    """What marts tell it by, as `cases` holds it."""
    memory: int | None = None
    wish: int | None = None
    """Which task, from 1, everybody privately wants."""
    system: str | None = None
    judged: Judged | None = None
    """In place of a scene to be played."""

    @property
    def talks(self) -> bool:
        """Whether agents speak, or a model by itself."""
        return self.setting in TALKING

    @property
    def question(self) -> Question:
        return self.scene.question

    @property
    def speakers(self) -> tuple[Person, ...]:
        """Who is asked in a round."""
        return self.people if self.talks else self.people[:1]

    @property
    def requests(self) -> int:
        """How many it sends where everybody answers."""
        return len(self.turns) * len(self.speakers)

    def place(self, turn: int, person: Person) -> TurnPosition:
        return TurnPosition(self.run_id, self.cell_id, self.id, turn, self.named(person))

    def named(self, person: Person) -> str:
        """Of who speaks; without interaction it is nobody of the scene."""
        return person.name if self.talks else NOBODY


def told_as(form: str, name: str) -> str:
    """A person as a group's `listed` or `persona` has them."""
    return form.replace(NAME, name)


def assigning(turns: tuple[Turn, ...]) -> Iterator[str]:
    """The rounds whose replies are assignments."""
    return (turn.id for turn in turns if turn.kind != "discussion")
