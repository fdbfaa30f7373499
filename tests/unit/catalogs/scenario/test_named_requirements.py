"""Requirements named by their file: mistakes stand where that file has them, and are told once."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.loading.catalog import read_catalog
from biasgrid.catalogs.scenario.scenario import resolve

WrittenFile = Callable[[str, str], Path]
SCENARIO = "scenario: {models: [simulated/fair]}\nrequirements: hiring\n"
SOUND = "requirements:\n  - {name: a, concern: sexism, languages: [en_us], communities: gender}\n"


@pytest.fixture(autouse=True)
def _overlay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIASGRID_CATALOG", str(tmp_path / "ours"))


@pytest.fixture
def told(written: WrittenFile) -> Callable[..., list[str]]:
    """What is wrong with a scenario that names `hiring`, given requirement files by name, as the overlay's."""

    def resolved(inspect: Callable[[Any], Sequence[Problem]] = lambda _: (), **files: str) -> list[str]:
        for name, text in files.items():
            written(f"ours/requirements/{name}.yaml", text)
        with pytest.raises(UserError) as caught:
            resolve(written("mine.yaml", SCENARIO), inspect=inspect)
        return [f"{Path(m.where).name}: {m.what} | {m.remedy}" for m in caught.value.mistakes]

    return resolved


def test_a_misspelt_name_is_told_at_the_requirement_files_own_line(told):
    hiring = """\
        id: hiring
        requirements:
          - name: a
            concern: sexsim
            languages: [en_us]
          - name: b
            concern: racism
            languages: [en_us]
            communities: skin_colour
        """
    assert [line.split(" | ")[0] for line in told(hiring=hiring)] == [
        "hiring.yaml:4: concern `sexsim` is unknown",
        "hiring.yaml:9: community set `skin_colour` is unknown",
    ]


def test_a_misspelt_name_in_an_included_file_is_told_in_that_file(told):
    hiring = f"id: hiring\nincludes: [more]\n{SOUND}"
    more = (
        "id: more\nrequirements:\n  - {name: b, concern: sexism, languages: [en_us],\n     communities: gendre}\n"
    )
    (mistake,) = told(hiring=hiring, more=more)
    assert mistake.startswith("more.yaml:4: community set `gendre` is unknown")


def test_communities_of_one_language_only_are_told_where_they_stand(told):
    hiring = """\
        id: hiring
        requirements:
          - name: a
            concern: sexism
            languages: [en_us, es_es]
            communities: {en_us: [men, women]}
        """
    (mistake,) = told(hiring=hiring)
    assert mistake.startswith("hiring.yaml:6: `communities` names none in `es_es`")


def test_what_an_inspection_says_about_a_requirement_gets_its_file_and_line(told):
    found = [
        Problem("names too few communities", "requirement `a`"),
        Problem("requirement `a`: the library has no template"),
        Problem("of nobody"),
    ]
    assert told(lambda _: found, hiring=f"id: hiring\n{SOUND}") == [
        ": of nobody | ",
        "hiring.yaml:3: requirement `a`: names too few communities | ",
        "hiring.yaml:3: requirement `a`: the library has no template | ",
    ]


@pytest.mark.parametrize("text", [SOUND.replace("communities", "tolerance: 90, communities"), "requirements: [\n"])
@pytest.mark.parametrize("name", ["hiring", "people"])
def test_a_file_that_has_mistakes_is_not_called_unknown_too(told, name, text):
    other = "id: other\nincludes: [hiring]\n"
    (mistake,) = told(**{name: f"id: hiring\n{text}", "other": other})
    assert mistake.startswith(f"{name}.yaml:")
    assert "unknown" not in mistake


def test_a_file_that_is_not_there_is_still_unknown(told):
    mistakes = told(housing="id: housing\nrequirements: [\n", other="id: other\nincludes: [hirings]\n")
    assert [line.split(" | ")[0] for line in mistakes] == [
        "mine.yaml:2: requirements `hiring` are unknown",
        "housing.yaml:3: is not valid YAML: did not find expected node content",
        "other.yaml:2: requirements `hirings` are unknown",
    ]


def test_a_file_that_includes_itself_says_so(told):
    (mistake,) = told(hiring=f"id: hiring\nincludes: [starter, hiring]\n{SOUND}")
    assert mistake == "hiring.yaml:2: requirements `hiring` include themselves | take it out of `includes`"
    (mistake,) = told(hiring="id: hiring\nincludes: [hiring]\n")
    assert "include themselves, and hold no requirements at all" in mistake


def test_files_that_include_each_other_are_told_once_with_the_way(told):
    files = {"hiring": "id: hiring\nincludes:\n  - more\n", "more": "id: more\nincludes: [hiring]\n"}
    (mistake,) = told(**files)
    round_trip = "requirements `hiring` include `more`, which includes `hiring`"
    assert mistake.startswith(f"hiring.yaml:3: {round_trip}, and hold no requirements at all")
    (mistake,) = told(hiring=files["hiring"], more=files["more"] + SOUND)
    assert mistake.startswith(f"hiring.yaml:3: {round_trip} | ")


def test_a_file_that_leads_into_a_circle_is_not_part_of_it(told):
    (mistake,) = told(hiring="id: hiring\nincludes: [more]\n", more=f"id: more\nincludes: [more]\n{SOUND}")
    assert mistake.startswith("more.yaml:2: requirements `more` include themselves")


def test_a_circle_through_a_shipped_file_is_told_in_the_overlays(told):
    files = {"hiring": f"id: hiring\n{SOUND}", "workplace": "id: workplace\nincludes: [full]\n"}
    (mistake,) = told(**files)
    assert mistake.startswith("workplace.yaml:2: requirements `workplace` include `full`, which includes")


def test_names_that_two_requirements_share_are_told_once_at_their_line(told):
    twice = SOUND + SOUND.partition("\n")[2]
    (mistake,) = told(hiring=f"id: hiring\n{twice}", other="id: other\nincludes: [hiring]\n")
    assert mistake.startswith("hiring.yaml:4: requirement `a` stands twice")
    mistakes = told(hiring=f"id: hiring\nincludes: [other]\n{SOUND}", other=f"id: other\n{SOUND}")
    assert [line.split(" | ")[0] for line in mistakes] == [
        "hiring.yaml:4: requirement `a` stands in `other`, which `hiring` includes, too"
    ]


def test_files_that_are_sound_have_no_mistakes(written):
    written("ours/requirements/more.yaml", "id: more\nincludes: [hiring]\n")
    written("ours/requirements/all.yaml", "id: all\nincludes: [more, hiring]\n")
    written("ours/requirements/hiring.yaml", f"id: hiring\n{SOUND}")
    assert read_catalog().mistakes == ()
    assert [each.name for each in resolve(written("mine.yaml", SCENARIO)).requirements] == ["a"]
