"""Who takes part in a play: names drawn from one culture, people and tasks in an order of chance.

The draw knows nothing of model, setting and mitigation: the same run of a scene has the same people everywhere, so
that what is compared differs in nothing else.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from catalogs.people import People
from catalogs.scenes import Scene
from tasks.connectors.desk import Party
from tasks.interact.play import Person, Told, told_as


@dataclass(frozen=True, slots=True)
class Draw:
    """Of one run of a scene in one language."""

    people: tuple[tuple[str, str], ...]
    """Name and group of each, in their order."""
    tasks: tuple[Told, ...]
    wish: int
    """Which task, from 1, everybody wants where they are told to."""


def drawn(scene: Scene, people: People, language: str, seed: int, number: int) -> Draw:
    """The people and tasks of one run of a scene."""
    chance = random.Random(f"cast:{seed}:{scene.id}:{language}:{number}")  # noqa: S311 - anybody can repeat it
    own = [(character.name, character.group) for character in scene.characters]
    cast = own or list(_named(scene, people, language, chance))
    chance.shuffle(cast)
    tasks = [Told(task.text[language], task.to) for task in scene.tasks]
    chance.shuffle(tasks)
    return Draw(tuple(cast), tuple(tasks), chance.randrange(len(tasks)) + 1)


def _named(scene: Scene, people: People, language: str, chance: random.Random) -> Iterator[tuple[str, str]]:
    groups = {group: people.groups[group][language] for group in scene.cast}
    culture = chance.choice(sorted(next(iter(groups.values())).names))
    for group, count in scene.cast.items():
        for name in chance.sample(groups[group].names[culture], count):
            yield name, group


def cast(draw: Draw, people: People, language: str, parties: Sequence[Party], number: int) -> tuple[Person, ...]:
    """The people of a play. Several models take turns, and begin with another one in each run, so that none
    always speaks first."""
    return tuple(
        Person(
            name,
            group,
            told_as(people.groups[group][language].listed, name),
            told_as(people.groups[group][language].persona, name),
            parties[(place + number - 1) % len(parties)],
        )
        for place, (name, group) in enumerate(draw.people)
    )
