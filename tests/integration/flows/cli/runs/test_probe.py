"""`biasgrid probe` and `plan` of a target file: mistakes, and figures before anything is sent."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]
GOOD = {
    "target": {"models": ["simulated/leaning"], "languages": ["en_us"], "sectors": ["healthcare"]},
    "probe": {"pairs": 2, "cases": 8},
}


class Desk:
    """A target file with everything in place but what a test breaks."""

    def __init__(self, biasgrid: Command, folder: Path) -> None:
        self.biasgrid, self.data, self.path = biasgrid, folder / "data", folder / "mine.yaml"

    def probe(self, *options: object, **sections: Any) -> Any:
        given = {name: {**GOOD.get(name, {}), **sections.get(name, {})} for name in {**GOOD, **sections}}
        self.path.write_text(json.dumps(given, indent=1))
        return self.biasgrid("probe", self.path, "--data", self.data, *options)

    def probe_text(self, text: str) -> Any:
        self.path.write_text(text)
        return self.biasgrid("probe", self.path, "--data", self.data)

    def plan(self, *options: object, **sections: Any) -> Any:
        self.path.write_text(json.dumps({**GOOD, **sections}))
        return self.biasgrid("plan", self.path, "--data", self.data, *options)


@pytest.fixture
def desk(biasgrid: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Desk:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return Desk(biasgrid, tmp_path)


def test_every_unknown_name_is_reported_at_once_with_its_line(desk):
    result = desk.probe(
        target={"models": ["simulated/leening"], "languages": ["en_uk"], "sectors": ["helthcare"]},
        probe={"pairs": ["docter-nurse"], "axes": ["gendr"], "generator": "simulated/fare"},
    )
    assert result.is_a_mistake(
        *("7 errors", "mine.yaml:4:", "mine.yaml:7:", "mine.yaml:10:"),
        *("`simulated/leening`", "did you mean `leaning`?"),
        *("language `en_uk`", "`en_us`"),
        *("sector `helthcare`", "`healthcare`"),
        *("attribute pair `docter-nurse`", "`doctor-nurse`"),
        *("axis `gendr`", "`gender`"),
        *("`simulated/fare`", "did you mean `fair`?", "nothing is left to propose"),
    )
    assert not desk.data.exists()


def test_every_misspelt_key_and_value_is_reported_at_once(desk):
    chatbot = {"url": "nowhere", "body": {"text": "{message}"}}
    result = desk.probe(
        target={"endpoint": chatbot}, probe={"case": 3, "cases": 0, "tests": ["implict"], "pairs": 0}
    )
    assert result.is_a_mistake(
        *("5 errors", "`target.endpoint.url`", "`probe.case` is not a known key"),
        *("`probe.cases` is `0`: must be at least 5", "`implict`", "did you mean `implicit`", "`probe.pairs`"),
    )


@pytest.mark.parametrize(
    ("sections", "part"),
    [
        ({"probe": {"generator": "openai/gpt-4o"}}, "no key for `openai/gpt-4o`"),
        ({"probe": {"axes": ["religion"]}}, "no attribute pair fits"),
    ],
)
def test_what_does_not_go_together(desk, sections, part):
    assert desk.probe(**sections).is_a_mistake(part)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "is empty"),
        ("- a list\n", "describes no target"),
        ("target: {models: [simulated/fair\n", "is not valid YAML"),
        ('{"target": {', "mine.yaml"),
    ],
)
def test_what_is_no_target_file(desk, text, part):
    assert desk.probe_text(text).is_a_mistake(part)


def test_a_missing_file_a_directory_and_no_model(desk, biasgrid, tmp_path):
    data = ("--data", desk.data)
    assert biasgrid("probe", tmp_path / "gone.yaml", *data).is_a_mistake("gone.yaml", "No such file")
    assert biasgrid("probe", tmp_path, *data).is_a_mistake("Is a directory")
    assert biasgrid("probe", *data).is_a_mistake("nothing is named", "`--model`")
    assert not desk.data.exists()


def test_what_is_given_next_to_the_file_is_reported_by_its_option(desk):
    result = desk.probe("--model", "simulated/fare", "--axis", "gendr", "--pairs", "docter-nurse")
    assert result.is_a_mistake("--model", "--axis", "--pairs", "3 errors")


@pytest.mark.parametrize(
    ("groups", "options", "parts"),
    [
        ("young,midle_aged,old", (), ("`midle_aged` is unknown", "did you mean `middle_aged`?")),
        ("white,black,hispanic", (), ("`hispanic` is unknown", "`asian`, `black`, `latin`")),
        ("young,old", (), ("must name three groups or more",)),
        ("young,old,old", (), ("names one twice",)),
        ("young,,old", (), ("entry 2", "is ``, which is no id")),
        ("young,women,old", (), ("`young`, `women`, `old` are of several axes", "groups of one axis")),
        ("black,asian,latin", (), ("no attribute pair is about two of `black`, `asian`, `latin`", "add `white`")),
        ("local,mexican,moroccan", ("--language", "es_es"), ("group `mexican` has no names in `es_es`",)),
        ("young,middle_aged,old", ("--axis", "gender"), ("--axis", "groups` are of axis `age`")),
        ("young,middle_aged,old", ("--pairs", "doctor-nurse"), ("--pairs", "`doctor-nurse` is of other groups")),
        ("young,middle_aged,old", ("--pairs", "nonsense"), ("--pairs", "`nonsense` is unknown to the probe")),
        (
            "young,middle_aged,old",
            ("--generator", "simulated/fair"),
            ("a generator proposes pairs of two groups",),
        ),
    ],
)
def test_groups_that_cannot_be_compared_are_reported_by_their_option(desk, groups, options, parts):
    assert desk.probe("--groups", groups, *options).is_a_mistake("1 error", *parts)
    assert not desk.data.exists()


def test_groups_that_cannot_be_compared_are_reported_with_their_line(desk):
    result = desk.probe(probe={"groups": ["young", "middle_aged", "old"], "axes": ["gender"]})
    assert result.is_a_mistake("mine.yaml:21:", "`groups` are of axis `age`, and `axes` names others")


def test_a_plan_reports_what_is_sure_and_what_follows(desk):
    result = desk.plan()
    assert result.code == 0, result
    assert "implicit  explicit" in result.out
    assert "simulated/leaning: 64 prompts, free" in result.out
    assert "48 of the 64 requests follow only where implicit bias shows" in result.out
    assert "Nothing was sent." in result.out
    assert not desk.data.exists()


def test_a_plan_needs_no_key_and_reports_of_the_generator(desk):
    result = desk.plan(probe={"pairs": 9, "generator": "openai/gpt-4o"})
    assert result.code == 0, result
    assert "openai/gpt-4o proposes the pairs: 2 requests, about $0.0" in " ".join(result.out.split())


def test_a_plan_as_json(desk):
    report = json.loads(desk.plan("--format", "json", "--model", "simulated/fair").out)
    assert (report["sure"]["requests"], report["whole"]["requests"]) == (16, 64)
    assert list(report["whole"]["models"]) == ["simulated/fair"]


PARTS = {"attacker": "simulated/attacker", "judge": "simulated/red-judge", "pairs": ["doctor-nurse"], "turns": 3}


def test_a_plan_of_a_red_team_and_of_both(desk):
    both = desk.plan(redteam=PARTS)
    assert "simulated/leaning: 64 prompts, free" in both.out
    assert "simulated/red-judge, the judge: 7 to 81 requests (about 27), free" in both.out
    assert both.out.count("Nothing was sent.") == 1
    as_json = json.loads(desk.plan("--format", "json", redteam=PARTS).out)
    assert (as_json["probe"]["whole"]["requests"], as_json["redteam"]["least"]["requests"]) == (64, 18)
    desk.path.write_text(json.dumps({"target": GOOD["target"], "redteam": PARTS}))
    alone = desk.biasgrid("plan", desk.path, "--data", desk.data, "--format", "json", "--model", "openai/gpt-4o")
    assert set(json.loads(alone.out)["least"]["models"]) == {"openai/gpt-4o", PARTS["attacker"], PARTS["judge"]}
    assert not desk.data.exists()


def test_mistakes_of_probe_and_red_team_are_reported_at_once(desk):
    result = desk.plan(probe={"axes": ["gendr"]}, redteam={**PARTS, "judge": "simulated/red-juge"})
    assert result.is_a_mistake("2 errors", "`gendr`", "red-judge")


def test_options_for_scenarios_are_refused(desk):
    assert desk.plan("--samples", 3).is_a_mistake("--samples", "is for scenarios")
