"""What the shipped scenes promise beyond what `catalog check` finds: enough of them, in both languages, that lean
to neither side by order or cast, with reasons for all that a model may be tuned on."""

from collections import Counter
from collections.abc import Iterator
from importlib import resources
from itertools import chain
from pathlib import Path

import pytest

from biasgrid.catalogs.lint.people_names import plain, words_in
from biasgrid.catalogs.loading.catalog import load_catalog
from biasgrid.catalogs.schema.scenes import Scene

CATALOG = load_catalog()
LANGUAGES = ("en_us", "es_es")
SEVEN = ("family", "office", "hospital", "politics", "law_enforcement", "school", "team_dynamics")
DOMAINS = tuple(CATALOG.scenes.values())
SCENES = tuple(chain.from_iterable(domain.scenes for domain in DOMAINS))
LABELLED = tuple(scene for scene in SCENES if not scene.is_control and scene.question == "assignment")
CONTROLS = tuple(scene for scene in SCENES if scene.is_control)
OF_SEVEN = tuple(scene for name in SEVEN if name in CATALOG.scenes for scene in CATALOG.scenes[name].scenes)
REASONS = {name: reasons for tuning in CATALOG.tuning.values() for name, reasons in tuning.scenes.items()}
each_language = pytest.mark.parametrize("language", LANGUAGES)
each_axis = pytest.mark.parametrize("axis", ["gender", "age", "ethnicity"])
each_domain = pytest.mark.parametrize("domain", DOMAINS, ids=[domain.id for domain in DOMAINS])


def of_axis(axis: str) -> list[Scene]:
    return [scene for scene in LABELLED if scene.axis == axis]


def texts(scene: Scene, language: str) -> list[str]:
    return [scene.goal[language], *(task.text[language] for task in scene.tasks)]


def doubles(reported: list[str]) -> list[str]:
    return [text for text, times in Counter(map(plain, reported)).items() if times > 1]


def order(scene: Scene) -> str:
    """Whose stereotype each task is of, by the letter of the first person: `ABBA`."""
    first = scene.tasks[0].to
    return "".join("A" if task.to == first else "B" for task in scene.tasks)


def load(scene: Scene) -> list[float]:
    """Tasks of each group's stereotype, for each of its people."""
    tasks = Counter(task.to for task in scene.tasks)
    return [tasks[group] / count for group, count in scene.groups.items()]


def test_seven_domains_share_out_tasks_between_women_and_men():
    assert set(SEVEN) <= set(CATALOG.scenes)
    assert len([scene for scene in OF_SEVEN if scene in of_axis("gender")]) == len(OF_SEVEN) >= 120
    assert not [domain.id for domain in DOMAINS if domain.held_out and domain.id in SEVEN]


def test_enough_scenes_are_kept_from_tuning():
    held_out = [domain for domain in DOMAINS if domain.held_out]
    assert sum(len(domain.scenes) for domain in held_out) >= 36
    assert not {domain.id for domain in held_out} & set(CATALOG.tuning)


def test_age_and_origin_have_scenes_of_their_own_and_controls_have_no_stereotype():
    assert len(of_axis("age")) >= 17 <= len(of_axis("ethnicity"))
    assert len(of_axis("age") + of_axis("ethnicity")) >= 30
    assert CATALOG.scenes["controls"].scenes == CONTROLS
    assert len(CONTROLS) >= 14


def test_one_class_project_asks_who_does_what_who_answers_and_who_leads():
    asked = {scene.id: scene for scene in CATALOG.scenes["school_case"].scenes}
    assert [scene.question for scene in asked.values()] == ["assignment", "choice", "choice"]
    assert Counter(task.to for task in asked["school-case-project"].tasks) == {"men": 2, "women": 2}
    assert {scene.tasks[0].to for scene in asked.values() if scene.question == "choice"} == {"men"}


@each_domain
def test_every_scene_is_written_in_both_languages(domain):
    assert [scene.id for scene in domain.scenes if not set(LANGUAGES) <= scene.languages] == []


@each_language
@each_domain
def test_goals_are_sentences_and_tasks_a_few_words_each(language, domain):
    assert [scene.id for scene in domain.scenes if not scene.goal[language].endswith((".", "?", "!"))] == []
    tasks = [task.text[language] for scene in domain.scenes for task in scene.tasks]
    assert [text for text in tasks if not 2 <= len(text.split()) <= 12 or text.endswith(".")] == []


@each_language
def test_no_goal_is_written_twice(language):
    assert doubles([scene.goal[language] for scene in SCENES]) == []


@each_language
@each_domain
def test_no_task_of_a_domain_is_written_twice(language, domain):
    assert doubles([task.text[language] for scene in domain.scenes for task in scene.tasks]) == []


@each_language
def test_goals_and_tasks_name_no_one_whom_any_scene_may_draw(language):
    names = {name for axis in ("gender", "age", "ethnicity") for name in everybody(axis, language)}
    reported = plain(" . ".join(text for scene in SCENES for text in texts(scene, language)))
    assert sorted(words_in(reported, names)) == []


@each_axis
def test_the_stereotype_whose_task_comes_first_is_either_one_half_of_the_time(axis):
    first = Counter(scene.tasks[0].to for scene in of_axis(axis))
    assert len(first) == 2
    assert all(0.4 <= times / first.total() <= 0.6 for times in first.values()), first


@each_axis
def test_no_order_of_tasks_is_the_usual_one(axis):
    orders = Counter(order(scene) for scene in of_axis(axis) if len(scene.tasks) == 4)
    assert set(orders) == {"ABBA", "ABAB", "AABB"}
    assert max(orders.values()) <= 0.6 * orders.total(), orders


@each_axis
def test_every_stereotype_has_tasks_in_the_proportion_of_its_people(axis):
    assert [scene.id for scene in of_axis(axis) if len(set(load(scene))) > 1] == []


@each_axis
def test_casts_are_of_several_sizes_and_neither_group_is_the_larger_by_habit(axis):
    casts = Counter(tuple(count for _, count in sorted(scene.groups.items())) for scene in of_axis(axis))
    assert 0.5 <= casts[2, 2] / casts.total() <= 0.8, casts
    assert abs(casts[1, 2] - casts[2, 1]) <= 2, casts
    assert casts[1, 1] > 0


def test_controls_are_as_long_for_men_as_for_women():
    people = Counter[str]()
    for scene in CONTROLS:
        people.update(scene.groups)
    assert people["men"] == people["women"]


def test_every_scene_of_the_seven_domains_has_reasons_in_both_languages():
    assert {scene.id for scene in OF_SEVEN} == set(REASONS)
    for language in LANGUAGES:
        reported = [reasons for reasons in REASONS.values() if language in reasons.present]
        assert 2 * len(reported) >= 240


@each_language
def test_reasons_are_as_long_as_a_reason_takes_and_written_once(language):
    reported = [
        text for reasons in REASONS.values() for text in (reasons.present[language], reasons.absent[language])
    ]
    assert doubles(reported) == []
    assert [text for text in reported if not 10 <= len(text.split()) <= 40] == []


@each_language
def test_reasons_begin_in_many_ways_so_that_no_opening_is_learnt(language):
    for presence in ("present", "absent"):
        reported = [getattr(reasons, presence)[language] for reasons in REASONS.values()]
        openings = Counter(" ".join(text.split()[:2]) for text in reported)
        assert max(openings.values()) <= 0.1 * len(reported), openings.most_common(3)


def everybody(axis: str, language: str) -> Iterator[str]:
    return (name for group in CATALOG.people[axis].groups for name in names(axis, group, language))


def names(axis: str, group: str, language: str) -> set[str]:
    return set(chain.from_iterable(CATALOG.people[axis].groups[group][language].names.values()))


@each_language
@each_axis
def test_people_have_names_enough_and_none_is_of_two_groups(axis, language):
    people = CATALOG.people[axis]
    first, second = (names(axis, group, language) for group in people.groups)
    assert {plain(name) for name in first} & {plain(name) for name in second} == set()
    for reported in people.groups.values():
        assert min(len(own) for own in reported[language].names.values()) >= 8


@each_language
def test_women_and_men_bear_names_of_four_cultures_or_more(language):
    assert len(CATALOG.people["gender"].groups["women"][language].names) >= 4


@each_language
def test_age_and_gender_are_given_next_to_the_name_and_origin_by_the_name_alone(language):
    for axis, nearby in (("gender", True), ("age", True), ("ethnicity", False)):
        reported = [group[language] for group in CATALOG.people[axis].groups.values()]
        assert all((one.listed != "{name}") is nearby for one in reported)
        assert all((one.persona != "{name}") is nearby for one in reported)


@each_language
def test_examples_show_either_kind_with_people_and_tasks_of_no_scene(language):
    reflection = CATALOG.interaction[language].reflection
    assert len(reflection.present) == len(reflection.absent) == 3
    reported = " ".join(example.assignment for example in (*reflection.present, *reflection.absent))
    assert sorted(words_in(reported, everybody("gender", language))) == []
    assert sorted(words_in(reported, (text for scene in SCENES for text in texts(scene, language)))) == []


@each_language
def test_the_data_sheet_states_how_many_scenes_reasons_and_names_there_are(language):
    of_axes = [len(of_axis(axis)) for axis in ("gender", "age", "ethnicity")]
    held_out = sum(len(domain.scenes) for domain in DOMAINS if domain.held_out)
    borne = sum(
        len(own)
        for people in CATALOG.people.values()
        for reported in people.groups.values()
        for own in reported[language].names.values()
    )
    counts = [len(DOMAINS), len(SCENES), *of_axes, len(CONTROLS), held_out, 2 * len(REASONS), borne]
    sheet = (Path(str(resources.files("biasgrid.catalogs"))) / "DATASHEET.md").read_text(encoding="utf-8")
    assert f"| `{language}` | {' | '.join(map(str, counts))} |" in sheet, counts
