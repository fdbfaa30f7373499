"""A scenario resolved: names, overrides, and every mistake at once with its place."""

import json
from pathlib import Path
from typing import Any

import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.scenario.resolution import Source
from biasgrid.catalogs.scenario.scenario import Overrides, resolve

REQUIREMENT = "  - {name: a, concern: sexism, languages: [en_us]}\n"


def list_errors(source: Path | str | dict[str, Any], overrides: Overrides | None = None) -> list[str]:
    with pytest.raises(UserError) as caught:
        resolve(source, overrides)
    return [f"{Path(m.where).name}: {m.what} | {m.remedy}" for m in caught.value.mistakes]


def test_a_broken_value_and_a_misspelt_name_are_both_reported_with_their_lines(written):
    path = written(
        "mine.yaml",
        """\
        scenario:
          models: [simulated/fair, openai/gpt-4x]
        requirements:
          - name: a
            concern: sexsim
            languages: [en_us]
            tolerance: 1.5
          - name: a
            concern: racism
            languages: [en_us]
            communities: skin_colour
        """,
    )
    assert list_errors(path) == [
        "mine.yaml:2: model `openai/gpt-4x` is unknown | did you mean `openai/gpt-4` or `openai/gpt-4o` or "
        "`openai/gpt-5.4`? Or name it under `models:` as `openai/gpt-4x` in models.yaml of a directory that "
        "BIASGRID_CATALOG names",
        "mine.yaml:5: concern `sexsim` is unknown | did you mean `sexism`?",
        "mine.yaml:7: requirement `a`: `tolerance` is `1.5`: must be at most 1 | "
        "correct the value: least share of the measure that must pass",
        "mine.yaml:8: requirement `a` stands twice | give each requirement its own name",
        "mine.yaml:11: community set `skin_colour` is unknown | "
        "did you mean `skin_color` or `skin_color_wide` or `gender_skin_color`?",
    ]


def test_a_file_a_dict_and_a_json_string_of_it_are_the_same_scenario(written):
    value = {
        "scenario": {"models": ["simulated/fair"]},
        "requirements": [{"name": "a", "concern": "Sexism", "languages": ["en_us"]}],
    }
    sources: list[Source] = [value, json.dumps(value), written("mine.json", json.dumps(value))]
    found = [resolve(source) for source in sources]
    assert found[0].scenario.scenario == found[1].scenario.scenario == found[2].scenario.scenario
    assert found[0].requirements == found[1].requirements == found[2].requirements
    assert found[0].requirements[0].concern == "sexism"
    assert [each.name for each in found] == ["scenario", "scenario", "mine"]


def test_a_scenario_may_ask_for_langbites_reading_of_all_its_replies():
    value = {
        "scenario": {"models": ["simulated/fair"], "reading": "langbite"},
        "requirements": [{"name": "a", "concern": "sexism", "languages": ["en_us"]}],
    }
    assert {template.oracle.reading for template in resolve(value).catalog.templates} == {"langbite"}
    value["scenario"] = {"models": ["simulated/fair"]}
    assert {template.oracle.reading for template in resolve(value).catalog.templates} == {"meaning"}


def test_a_dict_may_hold_paths(table):
    value = {
        "scenario": {"models": ["simulated/fair"], "library": table({})},
        "requirements": [{"name": "a", "concern": "sexism", "languages": ["en_us"]}],
    }
    assert len(resolve(value).catalog.templates) == 1


def test_requirements_may_be_named(written):
    path = written("mine.yaml", "scenario: {models: [simulated/fair]}\nrequirements: starter\n")
    assert "genders-treated-equally" in {requirement.name for requirement in resolve(path).requirements}
    misspelt = written("mine.yaml", "scenario: {models: [simulated/fair]}\nrequirements: startre\n")
    assert "mine.yaml:2: requirements `startre` are unknown | did you mean `starter`?" in list_errors(misspelt)


def test_a_library_in_a_file_is_relative_to_that_file(written, table, tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    library = table({}, {})
    text = f"scenario: {{models: [simulated/fair], library: ../{library.name}}}\nrequirements:\n{REQUIREMENT}"
    found = resolve(written("scenarios/mine.yaml", text))
    assert len(found.catalog.templates) == 2
    assert found.settings.library == str(library.resolve())


def test_a_table_takes_its_language_from_the_only_one_that_is_asked(written, table):
    library = table({}, name="mine.csv")
    path = written("mine.yaml", f"scenario: {{models: [simulated/fair]}}\nrequirements:\n{REQUIREMENT}")
    assert resolve(path, Overrides(library=str(library))).catalog.templates[0].language == "en_us"


def test_mistakes_of_the_library_stand_with_those_of_the_scenario(written, table):
    table({"input_type": "x"}, {"reflection_type": "y"}, {"concern": "classism"})
    path = written(
        "mine.yaml",
        """\
        scenario: {models: [simulated/fair], library: prompts_en_us.csv, retries: -1}
        requirements:
          - {name: a, concern: classism, languages: [en_us]}
          - {name: b, concern: sexsim, languages: [en_us]}
        """,
    )
    assert [line.split(": ")[0] for line in list_errors(path)] == [
        "mine.yaml:1",
        "mine.yaml:4",
        "prompts_en_us.csv:2",
        "prompts_en_us.csv:3",
    ]


def test_overrides_win_and_their_mistakes_name_the_option(written):
    path = written("mine.yaml", f"scenario: {{models: [simulated/fair]}}\nrequirements:\n{REQUIREMENT}")
    found = resolve(path, Overrides(models=["simulated/biased"], samples=3, seed=9, reuse="none"))
    assert list(found.targets) == ["simulated/biased"]
    settings = found.settings
    assert (settings.samples, settings.seed, settings.reuse) == (3, 9, "none")
    wrong = list_errors(path, Overrides(models=["nobody/x"], samples=0))
    assert {line.split(": ")[0] for line in wrong} == {"--model", "--samples"}


def test_a_judge_under_test_is_refused_unless_asked_for(written):
    settings = "scenario:\n  models: [OpenAIGPT4o]\n  judge: openai/gpt-4o\n"
    refused = written("mine.yaml", f"{settings}requirements:\n{REQUIREMENT}")
    assert list_errors(refused) == [
        "mine.yaml:3: judge `openai/gpt-4o` is under test itself | name another judge, or set "
        "`judge_may_be_subject: true`"
    ]
    allowed = written("mine.yaml", f"{settings}  judge_may_be_subject: true\nrequirements:\n{REQUIREMENT}")
    assert resolve(allowed).judge is not None


def test_the_resolved_scenario_read_again_is_the_same(written):
    path = written("mine.yaml", "scenario: {models: [OpenAIGPT4o]}\nrequirements: starter\n")
    first = resolve(path)
    again = resolve(first.as_json())
    assert again.requirements == first.requirements
    assert again.scenario.scenario == first.scenario.scenario
    assert again.name == first.name == "mine"


@pytest.mark.parametrize("text", ["", "[]", "just words", "requirements: starter"])
def test_what_is_no_scenario_states_what_one_holds(written, text):
    assert "scenario" in " ".join(list_errors(written("mine.yaml", text)))


def test_the_shipped_scenario_resolves():
    from importlib import resources

    shipped = Path(str(resources.files("biasgrid.catalogs") / "scenarios" / "starter.yaml"))
    assert resolve(shipped).requirements


def ask_models(languages: Any = ("en_us",), library: Any = "shipped", name: Any = "a") -> dict[str, Any]:
    return {
        "scenario": {"models": ["simulated/fair"], "library": library},
        "requirements": [{"name": name, "concern": "sexism", "languages": languages}],
    }


@pytest.mark.parametrize("languages", [5, True, "en_us"])
def test_languages_that_are_no_list_are_one_mistake(languages):
    (mistake,) = list_errors(ask_models(languages=languages))
    assert "`languages`" in mistake
    assert "must be a list" in mistake


@pytest.mark.parametrize("library", ["", " "])
def test_an_empty_library_is_a_mistake_and_reads_no_folder(library, written):
    in_file = written("mine.json", json.dumps(ask_models(library=library), indent=0))
    for source in (ask_models(library=library), in_file):
        (mistake,) = list_errors(source)
        assert "`library` is empty" in mistake
    (mistake,) = list_errors(ask_models(), Overrides(library=library))
    assert mistake.startswith("--library: `library` is empty")


def test_a_library_whose_name_no_file_can_have_is_one_short_mistake():
    (mistake,) = list_errors(ask_models(), Overrides(library="x" * 5000))
    assert "cannot be read: File name too long" in mistake
    assert len(mistake) < 300


def test_half_of_a_character_is_one_mistake_that_can_be_printed():
    source = ask_models(name="a\ud800")
    for given in (source, json.dumps(source)):
        (mistake,) = list_errors(given)
        assert r"`\ud800`, which is half of a character" in mistake.encode().decode()


def test_a_dict_that_json_cannot_hold_is_a_mistake():
    endless: dict[str, Any] = {}
    endless["scenario"] = endless
    sources: list[dict[str, Any]] = [endless, {"scenario": {("a",): 1}}]
    for source in sources:
        (mistake,) = list_errors(source)
        assert "cannot be written as JSON" in mistake


def test_a_shipped_scenario_is_found_by_its_name_wherever_one_stands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert resolve("starter").name == "starter"
    with pytest.raises(UserError, match="`startr` is neither a file nor a shipped one") as wrong:
        resolve("startr")
    assert "`starter`" in wrong.value.mistakes[0].remedy
    (tmp_path / "starter").mkdir()
    assert resolve("starter").name == "starter"
    (tmp_path / "starter").rmdir()
    (tmp_path / "starter").write_text("scenario: {models: [simulated/fair]}\nrequirements: full\n")
    assert resolve("starter").requirements[0].languages == ("en_us", "es_es", "ca_es")


def test_a_name_that_is_longer_than_a_files_may_be_is_one_short_mistake():
    (mistake,) = list_errors("starter" * 50)
    assert "is neither a file nor a shipped one" in mistake
    assert len(mistake) < 300


JUDGED = "scenario: {models: [simulated/fair], judge: simulated/biased, judge_sample: {%s}, judge_overrules: %s}"


def test_a_judge_that_overrules_receives_every_failed_verdict(written):
    rest = "\nrequirements: starter\n"
    path = written("mine.yaml", JUDGED % ("passed: 0.1, failed: 0.5", "true") + rest)
    (stated,) = list_errors(path)
    assert "`judge_sample.failed` is 0.5" in stated
    assert "`judge_overrules: false`" in stated
    path = written("mine.yaml", JUDGED % ("passed: 0.1, failed: 0.5", "false") + rest)
    assert resolve(path).scenario.scenario.judge_sample.failed == 0.5


def test_an_option_changes_the_share_of_passes_alone(written):
    path = written("mine.yaml", JUDGED % ("passed: 0.1, failed: 0.5", "false") + "\nrequirements: starter\n")
    sample = resolve(path, Overrides(judge_passed=0.3)).scenario.scenario.judge_sample
    assert (sample.passed, sample.failed) == (0.3, 0.5)
    with pytest.raises(UserError, match="--judge-passed"):
        resolve(path, Overrides(judge_passed=1.3))


def pool(**changes: Any) -> dict[str, Any]:
    asked = {"name": "a", "concerns": ["Sexism", "racism"], "languages": ["en_us"], **changes}
    return {"scenario": {"models": ["simulated/fair"]}, "requirements": [asked]}


def test_a_requirement_may_pool_several_concerns():
    (asked,) = resolve(pool()).requirements
    assert (asked.concern, asked.concerns) == ("several", ("sexism", "racism"))
    assert resolve(pool()).concerns == {"sexism", "racism"}
    (again,) = resolve(resolve(pool()).as_json()).requirements
    assert again.asked_concerns == ("sexism", "racism")


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"concern": "religion"}, "names both `concern` and `concerns`"),
        ({"concerns": []}, "names no `concern`"),
        ({"concerns": ["sexism", "racsm"]}, "concern `racsm` is unknown | did you mean `racism`?"),
    ],
)
def test_a_pool_names_known_concerns_and_no_single_one(changes, what):
    (mistake,) = list_errors(pool(**changes))
    assert what in mistake


def test_true_is_no_number(written):
    path = written(
        "mine.yaml",
        """\
        scenario:
          models: [simulated/fair]
          templates: true
          max_cost: true
        requirements:
          - name: a
            concern: sexism
            languages: [en_us]
            tolerance: true
            parity: true
        """,
    )
    found = [mistake.partition(" | ")[0] for mistake in list_errors(path)]
    assert found == [
        "mine.yaml:3: `scenario.templates` is `true`: must be a whole number",
        "mine.yaml:4: `scenario.max_cost` is `true`: must be a number",
        "mine.yaml:9: requirement `a`: `tolerance` is `true`: must be a number",
        "mine.yaml:10: requirement `a`: `parity` is `true`: must be a number",
    ]
