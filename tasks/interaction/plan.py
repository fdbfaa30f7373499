"""The plays of a run: every scene in every language, setting and run number, for every player; and assignments
of scenes not used for tuning, in which a model is asked to recognise implicit bias."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, product
from typing import Any, Final

from biasgrid.catalogs.choices import Mitigation, Setting
from biasgrid.catalogs.scenario.interaction import ResolvedInteraction, SceneOf, every_scene
from biasgrid.catalogs.scenario.tuning_examples import TuningExample, dev_scenes, tuning_examples
from biasgrid.catalogs.schema.base import fill_placeholders
from biasgrid.catalogs.schema.interactions import Protocol
from biasgrid.catalogs.schema.scenes import People, Scene
from biasgrid.catalogs.schema.target_file import TALKING
from biasgrid.tasks.connectors.replaying_client import Participant
from biasgrid.tasks.interaction.play import (
    LONE_SPEAKER,
    Judged,
    Person,
    Play,
    Task,
    Turn,
    assigning_rounds,
    fill_name,
)
from biasgrid.warehouse.hashing import content_hash


@dataclass(frozen=True, slots=True)
class Draw:
    """The random choices of one run of a scene in one language."""

    people: tuple[tuple[str, str], ...]
    """Name and group of each person, in their order."""
    tasks: tuple[Task, ...]
    wish: int
    """Number of the task, from 1, that all agents want in the `goal` setting."""


def draw_cast(scene: Scene, people: People, language: str, seed: int, number: int) -> Draw:
    """The people and tasks of one run of a scene."""
    chance = random.Random(f"cast:{seed}:{scene.id}:{language}:{number}")  # noqa: S311 - anybody can repeat it
    own = [(character.name, character.group) for character in scene.characters]
    cast = own or list(_draw_names(scene, people, language, chance))
    chance.shuffle(cast)
    tasks = [Task(task.text[language], task.to) for task in scene.tasks]
    chance.shuffle(tasks)
    return Draw(tuple(cast), tuple(tasks), chance.randrange(len(tasks)) + 1)


def _draw_names(scene: Scene, people: People, language: str, chance: random.Random) -> Iterator[tuple[str, str]]:
    groups = {group: people.groups[group][language] for group in scene.cast}
    culture = chance.choice(sorted(next(iter(groups.values())).names))
    for group, count in scene.cast.items():
        for name in chance.sample(groups[group].names[culture], count):
            yield name, group


def cast(
    draw: Draw, people: People, language: str, parties: Sequence[Participant], number: int
) -> tuple[Person, ...]:
    """The people of a play; several models rotate by run, so that none always speaks first."""
    return tuple(
        Person(
            name,
            group,
            fill_name(people.groups[group][language].listed, name),
            fill_name(people.groups[group][language].persona, name),
            parties[(place + number - 1) % len(parties)],
        )
        for place, (name, group) in enumerate(draw.people)
    )


VERSION = 1
"""Increased if the same inputs would give other conversations."""
ALONE: Final = "alone"
REFLECTION: Final = "reflection"


@dataclass(frozen=True, slots=True)
class Player:
    """A model, or several models that play together."""

    name: str
    parties: tuple[Participant, ...]
    tuned_from: str | None = None

    @property
    def fingerprints(self) -> list[str]:
        return [party.fingerprint for party in self.parties]


def plays(run_id: str, player: Player, resolved: ResolvedInteraction) -> Iterator[Play]:
    """The plays of one player by language, setting, mitigation and domain; languages without names are skipped."""
    own = resolved.file.interaction
    for language in own.languages:
        for setting in own.settings:
            for mitigation in own.mitigations if setting != "understanding" else ():
                yield from _CellPlays(run_id, player, resolved, language, setting, mitigation).all_plays()


def turns(setting: Setting, mitigation: Mitigation, protocol: Protocol) -> tuple[Turn, ...]:
    """The rounds of a play; agents reflect after their first assignment, before they see other replies."""
    if setting not in TALKING:
        return (Turn(ALONE, "assignment", "nobody"),)
    rounds = [Turn(one.id, one.kind, one.hears) for one in protocol.rounds]
    if mitigation != "none":
        rounds.insert(1, Turn(REFLECTION, "reflection", "nobody"))
    return tuple(rounds)


def play_facets(
    found: SceneOf, groups: Iterable[str], people: Sequence[Person], tasks: Sequence[Task], own: Sequence[Turn]
) -> dict[str, Any]:
    """What the marts know of a play without wishes, of a model that is not tuned."""
    domain, scene = found
    return {
        "axis": scene.axis,
        "domain": domain.id,
        "held_out": domain.held_out,
        "control": scene.is_control,
        "scene": scene.id,
        "question": scene.question,
        "groups": list(groups),
        "people": [
            {"name": person.name, "group": person.group, "model": person.party.target.model} for person in people
        ],
        "tasks": [{"text": task.text, "to": task.to} for task in tasks],
        "rounds": [turn.id for turn in own],
        "assigns": list(assigning_rounds(own)),
        "wishes": None,
        "tuned_from": None,
        "presence": None,
    }


@dataclass(frozen=True)
class _CellPlays:
    """What the plays of a cell share, except domain and scene."""

    run_id: str
    player: Player
    resolved: ResolvedInteraction
    language: str
    setting: Setting
    mitigation: Mitigation

    def all_plays(self) -> Iterator[Play]:
        """Plays by domain and scene."""
        catalog, runs = self.resolved.catalog, self.resolved.file.interaction.runs
        for domain, scene in self.resolved.scenes:
            if self.language in scene.languages & catalog.people[scene.axis].languages:
                yield from (self._play((domain, scene), number) for number in range(1, runs + 1))

    def _play(self, found: SceneOf, number: int) -> Play:
        (domain, scene), catalog = found, self.resolved.catalog
        groups, wording = catalog.people[scene.axis], catalog.interaction[self.language]
        seed = self.resolved.settings.seed
        draw = draw_cast(scene, groups, self.language, seed, number)
        people = cast(draw, groups, self.language, self.player.parties, number)
        own = turns(self.setting, self.mitigation, self.resolved.protocol)
        facets = self._facets(found, draw, people, own)
        key = ("play", self.player.name, self.language, self.setting, self.mitigation)
        template_id = content_hash("scene", self.language, scene.model_dump(mode="json"))
        return Play(
            id=content_hash(*key, number, self._common, template_id, facets),
            run_id=self.run_id,
            cell_id=content_hash("interaction cell", *key, domain.id),
            template_id=template_id,
            player=self.player.name,
            domain=domain.id,
            concern=groups.concern,
            scene=scene,
            wording=wording,
            setting=self.setting,
            mitigation=self.mitigation,
            number=number,
            people=people,
            tasks=draw.tasks,
            turns=own,
            protocol=self.resolved.protocol.id if self.setting in TALKING else ALONE,
            facets=facets,
            memory=self.resolved.protocol.memory,
            wish=facets["wishes"],
            system=self.resolved.file.interaction.system,
        )

    def _facets(
        self, found: SceneOf, draw: Draw, people: Sequence[Person], own: tuple[Turn, ...]
    ) -> dict[str, Any]:
        shown = play_facets(found, self.resolved.catalog.people[found[1].axis].groups, people, draw.tasks, own)
        wishes = draw.wish if self.setting == "goal" else None
        return shown | {"wishes": wishes, "tuned_from": self.player.tuned_from}

    @cached_property
    def _common(self) -> str:
        """Hash of the inputs that all scenes share."""
        catalog, own = self.resolved.catalog, self.resolved.file.interaction
        wording, protocol = catalog.interaction[self.language], self.resolved.protocol
        key = (wording.model_dump(mode="json"), protocol.model_dump(mode="json"), own.system)
        return content_hash("plays", VERSION, self.resolved.settings.seed, *self.player.fingerprints, *key)


UNDERSTANDING = "understanding"


def understandings(run_id: str, player: Player, resolved: ResolvedInteraction) -> Iterator[Play]:
    """One single-request play per validation assignment and run; of several models the first is queried."""
    catalog, seed = resolved.catalog, resolved.settings.seed
    kept, scenes = dev_scenes(catalog, seed), {scene.id: scene for _, scene in every_scene(catalog)}
    for language in resolved.file.interaction.languages:
        examples = [one for one in tuning_examples(catalog, language, seed) if one.scene in kept]
        for example, number in product(examples, range(1, resolved.file.interaction.runs + 1)):
            yield _understanding_play(run_id, player, resolved, example, scenes[example.scene], number)


def _understanding_play(
    run_id: str, player: Player, resolved: ResolvedInteraction, example: TuningExample, scene: Scene, number: int
) -> Play:
    catalog, language = resolved.catalog, example.language
    wording, people = catalog.interaction[language], catalog.people[scene.axis]
    places = {"goal": example.goal, "assignment": example.assignment}
    question = fill_placeholders(wording.understanding.question, places)
    template_id = content_hash("understanding", language, scene.model_dump(mode="json"), example.presence)
    key = (player.name, language, UNDERSTANDING)
    system = resolved.file.interaction.system
    depends = (VERSION, *player.fingerprints[:1], template_id, question, wording.understanding.system, system)
    return Play(
        id=content_hash("understood", *key, number, *depends),
        run_id=run_id,
        cell_id=content_hash("interaction cell", *key, example.domain),
        template_id=template_id,
        player=player.name,
        domain=example.domain,
        concern=people.concern,
        scene=scene,
        wording=wording,
        setting="understanding",
        mitigation="none",
        number=number,
        people=(Person(LONE_SPEAKER, "", "", "", player.parties[0]),),
        tasks=(),
        turns=(Turn(UNDERSTANDING, "discussion", "nobody"),),
        protocol=UNDERSTANDING,
        facets=_facets(example, scene, list(people.groups), player),
        system=system,
        judged=Judged(question, example.presence),
    )


def _facets(example: TuningExample, scene: Scene, groups: list[str], player: Player) -> dict[str, object]:
    return {
        "axis": scene.axis,
        "domain": example.domain,
        "held_out": False,
        "control": False,
        "scene": scene.id,
        "question": scene.question,
        "groups": groups,
        "people": [],
        "tasks": [],
        "rounds": [UNDERSTANDING],
        "assigns": [],
        "wishes": None,
        "tuned_from": player.tuned_from,
        "presence": example.presence,
    }


def players(resolved: ResolvedInteraction) -> Iterator[Player]:
    """Players by model, then the casts."""
    for name, targets in resolved.players.items():
        parties = tuple(Participant.of(target, resolved.settings, resolved.catalog) for target in targets)
        yield Player(name, parties, resolved.file.interaction.tuned.get(name))


def plan_by_cell(run_id: str, resolved: ResolvedInteraction) -> Iterator[list[Play]]:
    """Plays of a run, cell by cell."""
    for player in players(resolved):
        for _, own in groupby(_of_player(run_id, player, resolved), key=lambda play: play.cell_id):
            yield list(own)


def _of_player(run_id: str, player: Player, resolved: ResolvedInteraction) -> Iterator[Play]:
    yield from plays(run_id, player, resolved)
    if UNDERSTANDING in resolved.file.interaction.settings:
        yield from understandings(run_id, player, resolved)
