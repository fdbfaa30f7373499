"""What the check reports of scenes, their people, reasons and rounds, in a directory laid over the shipped one."""

from functools import partial
from importlib import resources
from pathlib import Path

import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.lint.check import lint
from biasgrid.catalogs.lint.rules.scene_rules import INTERACTION_RULE, SCENE_RULES
from biasgrid.catalogs.loading.catalog import OVERLAY, read_catalog
from biasgrid.catalogs.scenario.interaction import resolve_interaction
from support.lint_tables import lay_over

RULES = (*SCENE_RULES, INTERACTION_RULE)
LEFT = "Bano, Deri, Fulo, Gima, Kano, Beri"
RIGHT = "Lota, Meni, Puba, Rica, Sota, Leni"
PEOPLE = """\
id: handedness
concern: {concern}
source: given by us
groups:
  left:
    en_us: {{plural: left-handers, names: {{ours: [{left}]}}}}
    es_es: {{plural: zurdos, names: {{ours: [{left}]}}}}
  right:
    en_us: {{plural: right-handers, names: {{ours: [{right}]}}}}
    es_es: {{plural: diestros, names: {{ours: [{right}]}}}}
"""
SCENES = """\
id: workshop
held_out: {held_out}
scenes:
  - id: {id}
    axis: {axis}
    goal:
      en_us: {goal}
      {more}
    tasks:
      - to: {first}
        text: {{en_us: {task}, es_es: Aserrar la madera}}
      - {{to: {second}, text: {{en_us: Carve the spoon, es_es: Tallar la cuchara}}}}
    {people}
"""
TUNING = """\
id: {id}
scenes:
  {scene}:
    present: {{en_us: {reason}{more}}}
    absent: {{en_us: shared{more}}}
"""
CHOICE = """\
id: workshop
scenes:
  - id: lead
    axis: handedness
    question: choice
    goal: {en_us: They build a shed.}
    tasks: [{to: left, text: {en_us: Lead the team}}]
    cast: {left: 1, right: 1}
"""


def people(concern: str = "ableism", left: str = LEFT, right: str = RIGHT) -> str:
    return PEOPLE.format(concern=concern, left=left, right=right)


def scenes(**changed: str) -> str:
    fault = {
        "id": "spoon",
        "held_out": "false",
        "axis": "handedness",
        "goal": "They make a spoon.",
        "more": "es_es: Hacen una cuchara.",
        "first": "left",
        "second": "right",
        "task": "Saw the wood",
        "people": "cast: {left: 1, right: 1}",
    }
    return SCENES.format(**(fault | changed))


def tuning_text(**changed: str) -> str:
    fault = {"id": "workshop", "scene": "spoon", "reason": "sawing is left", "more": ", es_es: por costumbre"}
    return TUNING.format(**(fault | changed))


def read_shipped(name: str) -> str:
    return (Path(str(resources.files("biasgrid.catalogs"))) / name).read_text(encoding="utf-8")


def wording(was: str = "", becomes: str = "") -> str:
    return (
        read_shipped("interaction/en_us.yaml").replace(was, becomes, 1)
        if was
        else read_shipped("interaction/en_us.yaml")
    )


@pytest.fixture
def overlaid(find_in_overlay):
    return lambda **files: find_in_overlay(RULES, **({"people": people(), "scenes": scenes()} | files))


def test_people_scenes_reasons_and_words_of_ones_own_have_no_findings(overlaid):
    assert (
        overlaid(tuning=tuning_text(), interaction=wording(), protocols=read_shipped("protocols/study.yaml")) == []
    )


def test_the_check_reports_scenes_and_templates(one_template, tmp_path):
    fault = lint(one_template, lay_over(tmp_path, {"scenes": scenes(axis="handednes")}))
    assert [each.mistake.what for each in fault.findings if "scene" in each.mistake.what] == [
        "scene `spoon` is of axis `handednes`, which is unknown"
    ]


@pytest.mark.parametrize(
    ("written", "line", "fault"),
    [
        (people(concern="abelism"), 2, "axis `handedness`: concern `abelism` is unknown\n    → did you mean"),
        (people(right=f"{RIGHT}, Báno"), 9, "name `Báno` of group `right` is one of group `left`, too in `en_us`"),
        (people(right=f"{RIGHT}, Lota Ana"), 10, "name `Lota Ana` of group `right` and `lota` of `right` hold"),
    ],
)
def test_people_who_cannot_be_distinguished_are_found_with_their_line(overlaid, written, line, fault):
    found = overlaid(people=written)
    assert [each for each in found if each.startswith(f"people/ours.yaml:{line}: error: {fault}")], found


@pytest.mark.parametrize(
    ("changed", "line", "fault"),
    [
        ({"axis": "handednes"}, 5, "error: scene `spoon` is of axis `handednes`, which is unknown\n    → did you"),
        (
            {"axis": "gender"},
            13,
            "error: scene `spoon` has people of `left`, no group of axis `gender`\n    → known: `men`, `women`",
        ),
        (
            {"people": "cast: {left: 7, right: 1}"},
            13,
            "error: scene `spoon` draws 7 of `left`; `en_us`, `ours` has 6 names of them",
        ),
        (
            {"people": "characters: [{name: Jo, group: left}, {name: Jo Ann, group: right}]"},
            13,
            "error: scene `spoon` cannot be read: name `Jo Ann` of group `right` and `jo` of `left` hold one",
        ),
        ({"more": "pt_pt: Fazem uma colher."}, 6, "warning: scene `spoon` is written in `es_es` in part: it is"),
        ({"id": "school-case-lead"}, 4, "error: scene `school-case-lead` stands in catalogs/scenes/school_case."),
        ({"goal": "They help Béri."}, 7, "error: scene `spoon` names `Beri`, whom axis `handedness` may draw"),
        ({"task": "Wake Sota up"}, 11, "error: scene `spoon` names `Sota`, whom axis `handedness` may draw"),
    ],
)
def test_what_a_scene_cannot_be_asked_with_is_found_with_its_line(overlaid, changed, line, fault):
    found = overlaid(scenes=scenes(**changed))
    assert [each for each in found if each.startswith(f"scenes/ours.yaml:{line}: {fault}")], found


def test_a_language_without_names_or_words_is_found_where_the_scene_is_written_in_it(overlaid):
    french = scenes().replace("es_es:", "fr_fr:")
    assert [line.partition("\n")[0] for line in overlaid(scenes=french)] == [
        "scenes/ours.yaml:8: error: scene `spoon` is written in `fr_fr`, in which axis `handedness` has no names: "
        "it cannot be asked there",
        "scenes/ours.yaml:8: warning: scene `spoon` is written in `fr_fr`, in which agents have no words: it is "
        "not asked there",
    ]


def test_a_scene_that_brings_its_own_people_may_name_them(overlaid):
    own = "characters: [{name: Bano, group: left}, {name: Lota, group: right}]"
    assert overlaid(scenes=scenes(goal="Bano and Lota make a spoon.", people=own)) == []


control = partial(scenes, first="null", second="null")


@pytest.mark.parametrize(
    ("reasons", "asked", "line", "fault"),
    [
        (tuning_text(id="workshp"), scenes(), 1, "error: tuning `workshp` is of no domain of scenes\n    → did"),
        (tuning_text(), scenes(held_out="true"), 1, "error: tuning `workshop` is of a domain that is held out"),
        (
            tuning_text(scene="spon"),
            scenes(),
            3,
            "error: tuning `workshop` knows a scene `spon`, which its domain has",
        ),
        (tuning_text(), control(), 3, "error: tuning `workshop` has reasons for `spoon`, a control"),
        (
            tuning_text(scene="lead", more=""),
            CHOICE,
            3,
            "error: tuning `workshop` has reasons for `lead`, a choice",
        ),
        (tuning_text(more=""), scenes(), 3, "warning: tuning `workshop` has no reasons for `spoon` in `es_es`"),
        (
            tuning_text(more=", fr_fr: donc"),
            scenes(),
            4,
            "warning: tuning `workshop` has reasons for `spoon` in `fr_fr`, in which the scene is not written",
        ),
        (tuning_text(reason="Deri saws"), scenes(), 4, "error: tuning `workshop` names `Deri` in a reason"),
    ],
)
def test_assignments_that_no_model_should_be_tuned_on_are_found_with_their_line(
    overlaid, reasons, asked, line, fault
):
    found = overlaid(scenes=asked, tuning=reasons)
    assert [each for each in found if each.startswith(f"tuning/ours.yaml:{line}: {fault}")], found


def test_whole_texts_need_no_scenes(overlaid):
    text = "{presence: absent, text: {en_us: Both cook.}, reason: {en_us: They share it.}}"
    assert overlaid(tuning=f"id: kitchen\nexamples:\n  - {text}\n") == []


ROUND = "error: `en_us`, round `consensus` of protocol `study`, assignment: "
CONSENSUS = wording().partition("consensus:")[0]
AFTER_CONSENSUS = wording().removeprefix(CONSENSUS)


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        (CONSENSUS + AFTER_CONSENSUS.replace("{heard}", "…", 1), f"{ROUND}no place for `{{heard}}`"),
        (CONSENSUS + AFTER_CONSENSUS.replace("{heard}", "{herd}", 1), f"{ROUND}unknown place `{{herd}}`\n    →"),
        (
            wording("\n  consensus:", "\n  concord:"),
            "error: `en_us` has no words for round `consensus` of protocol `study`\n    → add `consensus`",
        ),
        (wording("\n  consensus:", "\n  concord:"), "warning: `en_us` has words for round `concord`, which no"),
        (wording("id: en_us", "id: fr_fr"), "error: `fr_fr`: replies cannot be read, since catalogs/languages"),
    ],
)
def test_rounds_that_no_words_fit_are_found(overlaid, written, fault):
    found = overlaid(interaction=written)
    assert [each for each in found if each.partition(": ")[2].startswith(fault)], found


def test_the_line_of_a_round_is_that_of_its_text(overlaid):
    written = CONSENSUS + AFTER_CONSENSUS.replace("{heard}", "…", 1)
    line = CONSENSUS.count("\n") + 2
    assert [each for each in overlaid(interaction=written) if each.startswith(f"interaction/ours.yaml:{line}: ")]


def test_a_protocol_that_receives_other_messages_is_reported_by_name(overlaid):
    deaf = "id: deaf\nrounds:\n  - {id: first, kind: assignment, hears: nobody}\n"
    deaf += "  - {id: last, kind: assignment, hears: nobody}\n"
    found = overlaid(interaction=wording(), protocols=deaf)
    assert [each.partition("`en_us`, ")[2].partition("\n")[0] for each in found] == [
        f"round `last` of protocol `deaf`, {kind}: unknown place `{{heard}}`" for kind in ("assignment", "choice")
    ]


@pytest.mark.parametrize(
    ("was", "becomes", "fault"),
    [
        ("You are {person}.", "You are someone.", "`persona` is `You are someone.`: lacks `{person}`"),
        ("    {people}", "    nobody", "`scene`: `assignment` lacks `{people}`"),
        ("<number>. <task>", "{number}. <task>", "`form`: `assignment` holds `{number}`, which nothing fills"),
        ("{scene}", "{scenes}", "`alone`: `assignment` lacks `{scene}`"),
        ('    present: "Implicit bias: present"\n', "", "`reflection.marks`: lacks `present`"),
        ("there was any.\n\n      {form}", "there was any.", "`reflection.again`: `assignment` lacks `{form}`"),
        ("goes to {person}", "is taken", "taken.`: lacks `{person}`"),
        ("present. {reason}", "present.", "`understanding.answer.present` is `Implicit bias: present.`: lacks"),
    ],
)
def test_words_without_their_places_are_refused_where_they_stand(one_template, tmp_path, was, becomes, fault):
    mistakes = read_catalog(one_template, lay_over(tmp_path, {"interaction": wording(was, becomes)})).mistakes
    assert [each.what for each in mistakes if fault in each.what and "ours.yaml:" in each.where], mistakes


def list_refusals(
    directory: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], **asked: object
) -> list[str]:
    """What a run of scenes refuses in a catalog with these files, each with the file's name."""
    monkeypatch.setenv(OVERLAY, str(lay_over(directory, {"people": people()} | files)))
    fault = {"models": ["simulated/fair"], "domains": ["workshop"], "axes": [], **asked}
    try:
        resolve_interaction({"interaction": fault})
    except UserError as wrong:
        return [str(mistake).replace(f"{directory}/", "") for mistake in wrong.mistakes]
    return []


def test_a_run_refuses_scenes_that_cannot_be_played(tmp_path, monkeypatch):
    broken = {
        "scenes": scenes(people="cast: {left: 7, right: 1}"),
        "interaction": wording("\n  last:", "\n  end:"),
    }
    found = list_refusals(tmp_path, monkeypatch, broken)
    assert [line.partition("\n")[0] for line in found] == [
        f"interaction/ours.yaml:{wording().partition('rounds:')[0].count(chr(10)) + 1}: "
        "`en_us` has no words for round `last` of protocol `study`",
        "scenes/ours.yaml:13: scene `spoon` draws 7 of `left`; `en_us`, `ours` has 6 names of them",
        "scenes/ours.yaml:13: scene `spoon` draws 7 of `left`; `es_es`, `ours` has 6 names of them",
    ]


def test_a_run_of_other_scenes_is_not_kept_from_them(tmp_path, monkeypatch):
    assert list_refusals(tmp_path, monkeypatch, {"scenes": scenes(axis="handednes")}, domains=["controls"]) == []
