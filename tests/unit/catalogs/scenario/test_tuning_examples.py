"""Assignments written out for tuning: who has which task, and under which names."""

import re
from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.loading.catalog import Catalog, read_catalog
from biasgrid.catalogs.scenario.tuning_examples import TuningExample, is_neutral, neutral, tuning_examples
from biasgrid.catalogs.schema.interactions import InteractionWording
from biasgrid.catalogs.schema.scenes import (
    Character,
    Domain,
    GroupOfPeople,
    People,
    Reasons,
    Scene,
    SceneTask,
    Tuning,
    WholeText,
)

CULTURES = {
    "men": {
        "north": ("Arn", "Bo", "Carl", "Dag", "Egil", "Finn"),
        "south": ("Ugo", "Vito", "Aldo", "Dino", "Enzo", "Gino"),
    },
    "women": {
        "north": ("Asa", "Britt", "Cilla", "Dagny", "Ebba", "Frida"),
        "south": ("Ada", "Bice", "Carla", "Dora", "Elsa", "Gaia"),
    },
}
ASKED = {"assignment": "{scene} {form}", "choice": "{scene} {form}"}
EXAMPLES = [{"assignment": f"Thing {number}", "reason": "Because."} for number in range(3)]
WORDING = InteractionWording.model_validate({
    "id": "en_us",
    "persona": "You are {person}.",
    "scene": {"assignment": "{goal} {tasks} {people}", "choice": "{goal} {task} {people}"},
    "form": {"assignment": "Each", "choice": "One"},
    "structured": {
        "assignment": '"remarks" "assignments" "task" "person" "reason"',
        "choice": '"remarks" "person" "reason"',
    },
    "alone": ASKED,
    "rounds": {"first": ASKED},
    "wish": "You want {task}.",
    "said": "{name}: {text}",
    "unheard": "Nothing.",
    "reflection": {
        "definition": "Bias",
        "again": {"assignment": "{form}", "choice": "{form}"},
        "before": {"assignment": "{form}", "choice": "{form}"},
        "examples_follow": "Such as:",
        "present": EXAMPLES,
        "absent": EXAMPLES,
        "marks": {"present": "Biased", "absent": "Fair"},
    },
    "understanding": {
        "system": "Look.",
        "assigned": "{person} has this: {task}.",
        "question": "{goal} {assignment}",
        "answer": {"present": "Present. {reason}", "absent": "Absent. {reason}"},
    },
})  # fmt: skip


def _scene(labels: str, men: int, women: int, **more: object) -> Scene:
    """Labels such as `MFMF`: whom each task's stereotype is of."""
    groups = {"M": "men", "F": "women", "0": None}
    tasks = tuple(
        SceneTask(to=groups[label], text={"en_us": f"Task {place}"}) for place, label in enumerate(labels)
    )
    reported = {"id": f"scene-{labels.lower()}", "goal": {"en_us": "Get it done."}, "tasks": tasks}
    return Scene.model_validate(reported | {"cast": {"men": men, "women": women}} | more)


def _catalog(*scenes: Scene, held_out: bool = False) -> Catalog:
    groups = {
        group: {"en_us": GroupOfPeople(plural=group, listed=f"{{name}} ({group})", names=names)}
        for group, names in CULTURES.items()
    }
    reported = Reasons(present={"en_us": "It leans."}, absent={"en_us": "It is fair."})
    return replace(
        read_catalog().catalog,
        people={"gender": People(id="gender", concern="sexism", source="made up", groups=groups)},
        scenes={"office": Domain(id="office", held_out=held_out, scenes=scenes)} if scenes else {},
        tuning={"office": Tuning(id="office", scenes={scene.id: reported for scene in scenes})} if scenes else {},
        interaction={"en_us": WORDING},
    )


def _give(example: TuningExample) -> list[str]:
    """The group that has each line's task."""
    return re.findall(r"\((\w+)\) has this", example.assignment)


def test_a_scene_gives_an_assignment_by_its_stereotype_and_a_fair_one():
    present, absent = tuning_examples(_catalog(_scene("MFFM", 2, 2)), "en_us", seed=1)
    assert (present.presence, present.reason, present.goal) == ("present", "It leans.", "Get it done.")
    assert _give(present) == ["men", "women", "women", "men"]
    assert (absent.presence, absent.reason) == ("absent", "It is fair.")
    by_label = Counter(zip("MFFM", _give(absent), strict=True))
    assert set(by_label.values()) == {1}, "each stereotype's tasks go to both groups"


def test_everybody_has_a_task_where_there_are_as_many_tasks_as_people():
    for example in tuning_examples(_catalog(_scene("MFFM", 2, 2), _scene("MMF", 2, 1)), "en_us", seed=1):
        named = re.findall(r"^(.+) has this", example.assignment, re.MULTILINE)
        assert sorted(named) == sorted(example.people)


@pytest.mark.parametrize(
    ("labels", "men", "women"), [("MMFF", 2, 2), ("MFM", 2, 1), ("FMF", 1, 2), ("MFMF", 1, 1), ("MFMFM", 3, 2)]
)
def test_the_fair_assignment_is_neutral_by_the_published_rule(labels, men, women):
    scene = _scene(labels, men, women)
    for seed in range(20):
        (plan,) = neutral(scene, Random(seed))
        given = Counter(zip(labels, plan, strict=True))
        balanced = sum(min(given[label, "men"], given[label, "women"]) for label in "MF")
        assert balanced >= min(men, women)
        assert is_neutral(scene, plan)


@pytest.mark.parametrize(("labels", "men", "women"), [("MF", 1, 1), ("MFM", 2, 2), ("MMMFFF", 3, 3)])
def test_where_no_assignment_is_neutral_both_groups_share_every_task(labels, men, women):
    _, absent = tuning_examples(_catalog(_scene(labels, men, women)), "en_us", seed=1)
    assert [line[-2] for line in absent.assignment.splitlines()] == [
        str(place) for place in range(len(labels)) for _ in range(2)
    ]
    given = _give(absent)
    assert all({*given[place : place + 2]} == {"men", "women"} for place in range(0, len(given), 2))


def test_people_of_a_scene_are_of_one_culture_and_the_same_in_both_assignments():
    cultures = set()
    for seed in range(10):
        present, absent = tuning_examples(_catalog(_scene("MFFM", 2, 2)), "en_us", seed)
        assert present.people == absent.people
        names = {person.partition(" ")[0] for person in present.people}
        (culture,) = (
            one for one in ("north", "south") if names <= {*CULTURES["men"][one], *CULTURES["women"][one]}
        )
        cultures.add(culture)
    assert cultures == {"north", "south"}


def test_the_same_seed_gives_the_same_and_another_does_not():
    catalog = _catalog(_scene("MFFM", 2, 2), _scene("MMFF", 2, 2))
    assert tuning_examples(catalog, "en_us", 1) == tuning_examples(catalog, "en_us", 1)
    assert tuning_examples(catalog, "en_us", 1) != tuning_examples(catalog, "en_us", 2)
    orders = {
        tuple("women" in person for person in tuning_examples(catalog, "en_us", seed)[0].people)
        for seed in range(20)
    }
    assert len(orders) > 3, "people are listed in an order of their own"


def test_people_whom_a_scene_names_keep_their_names():
    people = (Character(name="Ann", group="women"), Character(name="Rob", group="men"))
    scene = _scene("MF", 1, 1, cast={}, characters=people)
    present, _ = tuning_examples(_catalog(scene), "en_us", seed=1)
    assert present.assignment == "Rob (men) has this: Task 0.\nAnn (women) has this: Task 1."


def test_controls_choices_and_held_out_domains_tune_no_model():
    assert not tuning_examples(_catalog(_scene("00", 1, 1), _scene("M", 1, 1, question="choice")), "en_us", 1)
    assert not tuning_examples(_catalog(_scene("MF", 1, 1), held_out=True), "en_us", 1)


def test_a_language_without_words_is_named():
    with pytest.raises(UserError, match="interactions have no words in `en_uk`"):
        tuning_examples(_catalog(_scene("MF", 1, 1)), "en_uk", 1)


def test_whole_texts_are_given_as_they_are():
    whole = WholeText(presence="absent", text={"en_us": "Ann and Rob cook."}, reason={"en_us": "Both do it."})
    catalog = replace(_catalog(), tuning={"kitchen": Tuning(id="kitchen", examples=(whole,))})
    (example,) = tuning_examples(catalog, "en_us", seed=1)
    assert (example.id, example.presence) == ("kitchen/1/en_us/absent", "absent")
    assert (example.goal, example.assignment, example.reason) == ("", "Ann and Rob cook.", "Both do it.")
