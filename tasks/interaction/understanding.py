"""Plays that ask a model to recognise implicit bias in assignments of scenes not used for tuning."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from biasgrid.catalogs.scenario.interaction import ResolvedInteraction, every_scene
from biasgrid.catalogs.scenario.tuning_examples import TuningExample, dev_scenes, tuning_examples
from biasgrid.catalogs.schema.base import fill_placeholders
from biasgrid.catalogs.schema.scenes import Scene
from biasgrid.tasks.interaction.plan import VERSION, Player
from biasgrid.tasks.interaction.play import LONE_SPEAKER, Judged, Person, Play, Turn
from biasgrid.warehouse.hashing import content_hash

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
