"""Who takes part in a play, and in which order."""

from collections import Counter

import pytest

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.scenario.interaction import every_scene
from biasgrid.catalogs.schema.scenes import Scene
from biasgrid.tasks.interaction.plan import Draw, cast, draw_cast

LANGUAGES = ("en_us", "es_es")
NAMED = Scene.model_validate(
    {
        "id": "imported",
        "goal": {"en_us": "Get ready for winter."},
        "tasks": [
            {"to": "men", "text": {"en_us": "Chop the wood"}},
            {"to": "women", "text": {"en_us": "Air the quilts"}},
        ],
        "characters": [{"name": "Kim", "group": "women"}, {"name": "Lee", "group": "men"}],
    }
)


def draws(catalog: Catalog, scene: Scene, count: int = 40, language: str = "en_us", seed: int = 7) -> list[Draw]:
    people = catalog.people[scene.axis]
    return [draw_cast(scene, people, language, seed, number) for number in range(1, count + 1)]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_scene_has_as_many_of_each_group_as_stated_and_no_person_twice(catalog, language):
    for _, scene in every_scene(catalog):
        for draw in draws(catalog, scene, 3, language):
            assert Counter(group for _, group in draw.people) == scene.groups
            assert len({name for name, _ in draw.people}) == len(draw.people)
            assert sorted(task.text for task in draw.tasks) == sorted(task.text[language] for task in scene.tasks)


def test_the_people_of_a_scene_are_of_one_culture_and_every_culture_comes_up(catalog):
    scene = next(scene for _, scene in every_scene(catalog) if scene.axis == "gender")
    groups, met = catalog.people["gender"].groups, set[str]()
    for draw in draws(catalog, scene):
        of = {
            culture
            for culture in groups["men"]["en_us"].names
            if all(name in groups[group]["en_us"].names[culture] for name, group in draw.people)
        }
        assert of, draw.people
        met |= of
    assert met == set(groups["men"]["en_us"].names)


def test_people_and_tasks_are_listed_in_every_order(catalog):
    scene = next(scene for _, scene in every_scene(catalog) if scene.cast == {"men": 2, "women": 2})
    found = draws(catalog, scene, 400)
    first_named, first_shown = (
        Counter(draw.people[0][1] for draw in found),
        Counter(draw.tasks[0].text for draw in found),
    )
    assert 150 < first_named["men"] < 250
    assert len(first_shown) == len(scene.tasks)
    assert min(first_shown.values()) > 60
    assert {draw.wish for draw in found} == set(range(1, len(scene.tasks) + 1))


def test_the_order_of_the_tasks_keeps_their_stereotypes(catalog):
    for _, scene in every_scene(catalog):
        own = {task.text["en_us"]: task.to for task in scene.tasks}
        assert all({task.text: task.to for task in draw.tasks} == own for draw in draws(catalog, scene, 2))


def test_a_scene_with_people_of_its_own_keeps_their_names_and_their_order_alone_is_drawn(catalog):
    found = draws(catalog, NAMED)
    assert {frozenset(draw.people) for draw in found} == {frozenset({("Kim", "women"), ("Lee", "men")})}
    assert len({draw.people for draw in found}) == 2


def test_the_same_cast_takes_part_whatever_model_setting_and_mitigation(stage):
    own = {"runs": 3, "settings": ["no_interaction", "no_goal", "goal"]}
    one = stage.plays("one", **own, mitigations=["none", "reflection"])
    other = stage.plays("other", "third", **own)
    for number in (1, 2, 3):
        reported = {
            (tuple((person.name, person.group) for person in play.people), play.tasks)
            for play in one + other
            if play.number == number
        }
        assert len(reported) == 1
    assert len({play.people for play in one}) == 3


def test_another_seed_run_or_language_casts_anew(catalog):
    scene = next(scene for _, scene in every_scene(catalog) if scene.cast == {"men": 2, "women": 2})
    assert len({draw.people for draw in draws(catalog, scene)}) > 35
    assert draws(catalog, scene) == draws(catalog, scene) != draws(catalog, scene, seed=8)
    assert draws(catalog, scene)[:9] == draws(catalog, scene, 9)


def test_models_of_a_cast_take_turns_and_each_of_them_begins_in_some_run(catalog, stage):
    _, scene = next(found for found in every_scene(catalog) if found[1].cast == {"men": 2, "women": 2})
    parties, people = stage.player("a", "b", "c").parties, catalog.people[scene.axis]
    order = []
    for number, draw in enumerate(draws(catalog, scene, 4), 1):
        found = cast(draw, people, "en_us", parties, number)
        order.append("".join(person.party.target.name for person in found))
    assert order == ["abca", "bcab", "cabc", "abca"]
