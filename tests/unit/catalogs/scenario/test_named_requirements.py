"""Requirements named by their file: mistakes stand where that file has them, and are reported once."""

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
def reported(written: WrittenFile) -> Callable[..., list[str]]:
    """What is wrong with a scenario that names `hiring`, given requirement files by name, as the overlay's."""

    def resolve_file(inspect: Callable[[Any], Sequence[Problem]] = lambda _: (), **files: str) -> list[str]:
        for name, text in files.items():
            written(f"ours/requirements/{name}.yaml", text)
        with pytest.raises(UserError) as caught:
            resolve(written("mine.yaml", SCENARIO), inspect=inspect)
        return [f"{Path(m.where).name}: {m.what} | {m.remedy}" for m in caught.value.mistakes]

    return resolve_file


def test_a_misspelt_name_is_reported_at_the_requirement_files_own_line(reported):
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
    assert [line.split(" | ")[0] for line in reported(hiring=hiring)] == [
        "hiring.yaml:4: concern `sexsim` is unknown",
        "hiring.yaml:9: community set `skin_colour` is unknown",
    ]


def test_a_misspelt_name_in_an_included_file_is_reported_in_that_file(reported):
    hiring = f"id: hiring\nincludes: [more]\n{SOUND}"
    more = (
        "id: more\nrequirements:\n  - {name: b, concern: sexism, languages: [en_us],\n     communities: gendre}\n"
    )
    (mistake,) = reported(hiring=hiring, more=more)
    assert mistake.startswith("more.yaml:4: community set `gendre` is unknown")


def test_communities_of_one_language_only_are_reported_where_they_stand(reported):
    hiring = """\
        id: hiring
        requirements:
          - name: a
            concern: sexism
            languages: [en_us, es_es]
            communities: {en_us: [men, women]}
        """
    (mistake,) = reported(hiring=hiring)
    assert mistake.startswith("hiring.yaml:6: `communities` names none in `es_es`")


def test_what_an_inspection_reports_about_a_requirement_gets_its_file_and_line(reported):
    found = [
        Problem("names too few communities", "requirement `a`"),
        Problem("requirement `a`: the library has no template"),
        Problem("of no one"),
    ]
    assert reported(lambda _: found, hiring=f"id: hiring\n{SOUND}") == [
        ": of no one | ",
        "hiring.yaml:3: requirement `a`: names too few communities | ",
        "hiring.yaml:3: requirement `a`: the library has no template | ",
    ]


@pytest.mark.parametrize("text", [SOUND.replace("communities", "tolerance: 90, communities"), "requirements: [\n"])
@pytest.mark.parametrize("name", ["hiring", "people"])
def test_a_file_that_has_mistakes_is_not_called_unknown_too(reported, name, text):
    other = "id: other\nincludes: [hiring]\n"
    (mistake,) = reported(**{name: f"id: hiring\n{text}", "other": other})
    assert mistake.startswith(f"{name}.yaml:")
    assert "unknown" not in mistake


def test_a_file_that_is_not_there_is_still_unknown(reported):
    mistakes = reported(housing="id: housing\nrequirements: [\n", other="id: other\nincludes: [hirings]\n")
    assert [line.split(" | ")[0] for line in mistakes] == [
        "mine.yaml:2: requirements `hiring` are unknown",
        "housing.yaml:3: is not valid YAML: did not find expected node content",
        "other.yaml:2: requirements `hirings` are unknown",
    ]


def test_a_file_that_includes_itself_is_reported(reported):
    (mistake,) = reported(hiring=f"id: hiring\nincludes: [starter, hiring]\n{SOUND}")
    assert mistake == "hiring.yaml:2: requirements `hiring` include themselves | take it out of `includes`"
    (mistake,) = reported(hiring="id: hiring\nincludes: [hiring]\n")
    assert "include themselves, and hold no requirements at all" in mistake


def test_files_that_include_each_other_are_reported_once_with_the_way(reported):
    files = {"hiring": "id: hiring\nincludes:\n  - more\n", "more": "id: more\nincludes: [hiring]\n"}
    (mistake,) = reported(**files)
    round_trip = "requirements `hiring` include `more`, which includes `hiring`"
    assert mistake.startswith(f"hiring.yaml:3: {round_trip}, and hold no requirements at all")
    (mistake,) = reported(hiring=files["hiring"], more=files["more"] + SOUND)
    assert mistake.startswith(f"hiring.yaml:3: {round_trip} | ")


def test_a_file_that_leads_into_a_circle_is_not_part_of_it(reported):
    (mistake,) = reported(hiring="id: hiring\nincludes: [more]\n", more=f"id: more\nincludes: [more]\n{SOUND}")
    assert mistake.startswith("more.yaml:2: requirements `more` include themselves")


def test_a_circle_through_a_shipped_file_is_reported_in_the_overlays(reported):
    files = {"hiring": f"id: hiring\n{SOUND}", "workplace": "id: workplace\nincludes: [full]\n"}
    (mistake,) = reported(**files)
    assert mistake.startswith("workplace.yaml:2: requirements `workplace` include `full`, which includes")


def test_names_that_two_requirements_share_are_reported_once_at_their_line(reported):
    twice = SOUND + SOUND.partition("\n")[2]
    (mistake,) = reported(hiring=f"id: hiring\n{twice}", other="id: other\nincludes: [hiring]\n")
    assert mistake.startswith("hiring.yaml:4: requirement `a` stands twice")
    mistakes = reported(hiring=f"id: hiring\nincludes: [other]\n{SOUND}", other=f"id: other\n{SOUND}")
    assert [line.split(" | ")[0] for line in mistakes] == [
        "hiring.yaml:4: requirement `a` stands in `other`, which `hiring` includes, too"
    ]


def test_files_that_are_sound_have_no_mistakes(written):
    written("ours/requirements/more.yaml", "id: more\nincludes: [hiring]\n")
    written("ours/requirements/all.yaml", "id: all\nincludes: [more, hiring]\n")
    written("ours/requirements/hiring.yaml", f"id: hiring\n{SOUND}")
    assert read_catalog().mistakes == ()
    assert [each.name for each in resolve(written("mine.yaml", SCENARIO)).requirements] == ["a"]
