"""The answer in words: who may be used, what is wrong, how sure that is, and what to do next. All texts of
reports exist in each language, with the same values to fill in.
"""

import re
from dataclasses import replace
from importlib.resources import files
from typing import get_args

import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.tasks.report.checks import Harm
from biasgrid.tasks.report.findings import findings
from biasgrid.tasks.report.languages import LANGUAGES, Speaker, words
from support.answers import make_answer, make_check

MET, UNPROVEN, FAILS, SILENT = map(make_check, ("met", "undecided", "not met", "not evaluated"))
WORSE = replace(FAILS, name="ages-alike", value=0.2)


@pytest.mark.parametrize(
    ("models", "first"),
    [
        ({"m/a": [MET, MET]}, "m/a meets all 2 requirements."),
        ({"m/a": [MET], "m/b": [MET]}, "m/a and m/b meet the requirement."),
        ({"m/a": [MET, FAILS], "m/b": [SILENT, SILENT]}, "No model is shown to meet all 2 requirements."),
        ({"m/a": [UNPROVEN]}, "m/a is not shown to meet the requirement."),
        ({f"m/{n}": [MET] for n in range(5)}, "m/0, m/1, m/2 and 2 more meet the requirement."),
        ({}, "Nothing was judged."),
    ],
)
def test_the_first_sentence_names_who_may_be_used(models, first):
    assert make_answer(models).first == first


@pytest.mark.parametrize(
    ("checks", "verdict", "sentence"),
    [
        (
            [FAILS, WORSE, MET],
            "fails 2 of 3",
            "m/a fails 2 of 3 requirements, worst on ages-alike (20.0%) and genders-alike (40.0%).",
        ),
        (
            [UNPROVEN, UNPROVEN],
            "not proven (2)",
            "m/a passes everything, but 20 templates are too few to be sure of 2 requirements (82.0% to "
            "100.0%; 90.0% required).",
        ),
        (
            [replace(UNPROVEN, value=0.91, low=0.8, high=0.97, needed=12_000), MET],
            "not proven (1)",
            "m/a meets 1 of 2 and fails none; genders-alike is too near the tolerance to settle (80.0% to 97.0%; "
            "90.0% required).",
        ),
        ([SILENT, SILENT], "no answer", "m/a declined most questions: nothing is known of it."),
        ([SILENT, UNPROVEN], "not proven (1)", "m/a passes everything, but 20 templates are too few"),
        ([SILENT, MET], "no answer (1)", ""),
        ([MET, MET], "meets all 2", "m/a meets all 2 requirements."),
    ],
)
def test_a_model_has_one_verdict_and_its_reason(checks, verdict, sentence):
    answer = make_answer({"m/a": checks})
    assert answer.models[0].verdict == verdict
    assert sentence in " ".join(answer.sentences())


def test_the_best_supported_model_is_first_and_what_was_not_examined_last():
    models = {"m/none": [SILENT], "m/fails": [FAILS], "m/unsure": [UNPROVEN], "m/met": [MET]}
    assert [one.model for one in make_answer(models).models] == ["m/met", "m/unsure", "m/fails", "m/none"]


@pytest.mark.parametrize(
    ("kind", "harms", "sentence"),
    [
        (
            "benchmark",
            [Harm("age_80", 46), Harm("women", 32)],
            "Its replies about age_80 (−46 points) and women (−32 points) pass less often than about others.",
        ),
        ("probe", [Harm("women", other="nurse")], "To the disadvantage of women (nurse)."),
        ("redteam", [Harm("women", 5, "1,200")], "The bias is against women (in 5 of 1,200 attacks)."),
        ("interaction", [Harm("women", 70)], "Of the tasks that stereotypes give a group, women are given 70%."),
        ("audit", [Harm("women", 10.8, "men")], "At a disadvantage: women (10.8 points below men)."),
        ("audit", [Harm(name, 4, "men") for name in "abcde"], "c (4 points below men) and 2 more."),
    ],
)
def test_who_is_harmed_is_named_with_how_much(kind, harms, sentence):
    answer = make_answer({"m/a": [FAILS]}, kind, harmed={"m/a": harms})
    assert sentence in " ".join(answer.sentences())


def test_a_check_of_several_languages_is_named_with_its_own():
    checks = [FAILS, replace(WORSE, name=FAILS.name, language="es_es")]
    found = " ".join(make_answer({"m/a": checks}, "probe").sentences())
    assert "most in genders-alike · es_es (20.0%) and genders-alike · en_us (40.0%)." in found


def test_an_attribute_is_in_the_language_of_the_answer_where_it_is_known():
    harms = [Harm("old", None, word, own) for own, word in (("ca_es", "rutina"), ("en_us", "routine"))]
    found = make_answer({"m/a": [FAILS]}, "probe", harmed={"m/a": harms})
    assert "To the disadvantage of old (routine)." in " ".join(found.sentences())
    assert "En perjuicio de old (rutina, ca_es)." in " ".join(found.in_language("es_es").sentences())


def test_how_sure_it_is_stands_in_words():
    found = make_answer({"m/a": [MET, replace(MET, low=0.95)], "m/b": [replace(WORSE, high=0.6), FAILS]})
    assert found.sentences()[-1] == "By 95% intervals: meets ≥ 82.0%, fails ≤ 60.0%."


def test_the_worst_check_has_its_interval_and_equal_ones_the_widest():
    (one,) = make_answer({"m/a": [FAILS, WORSE]}).models
    assert one.worst == ("ages-alike 20.0%", "(22.0% to 40.0%)")
    (one,) = make_answer({"m/a": [MET, replace(MET, low=0.95)]}).models
    assert one.worst == ("all 100.0%", "(82.0% to 100.0%)")
    (one,) = make_answer({"m/a": [SILENT]}).models
    assert one.worst == ("–", "")


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("probe", "m/a shows bias in 1 of 2 tests, most in genders-alike (40.0%)."),
        ("redteam", "m/a is led into bias by 1 of 2 strategies, most by genders-alike (40.0%)."),
        ("interaction", "m/a shows bias in 1 of 2 settings, most in genders-alike (40.0%)."),
    ],
)
def test_other_kinds_have_their_own_words_and_what_is_not_shown_is_no_proof(kind, sentence):
    assert sentence in make_answer({"m/a": [FAILS, UNPROVEN]}, kind).sentences()
    assert "which is no proof" in " ".join(make_answer({"m/a": [UNPROVEN]}, kind).sentences())


def test_what_would_settle_it_is_a_command_and_an_unfinished_run_is_resumed_first():
    steps = make_answer({"m/a": [UNPROVEN], "m/b": [FAILS]}, state="incomplete").next_steps(" --data d")
    assert steps == [
        "biasgrid resume 01M82WQ3 --data d",
        "biasgrid show 01M82WQ3 --all --data d",
        "biasgrid report 01M82WQ3 --open --data d",
        "biasgrid compare 01M82WQ3 --models m/a m/b --data d",
        "biasgrid run mine --model m/a --templates 10 --data d",
    ]


def test_how_many_templates_would_settle_it_stands_in_words():
    assert "`templates: 10` would settle what is not proven" in " ".join(
        make_answer({"m/a": [UNPROVEN]}).sentences()
    )


def test_a_library_with_too_few_templates_cannot_settle_it_and_no_command_proposes_that():
    found = make_answer({"m/a": [UNPROVEN]}, available={("genders-alike", "en_us"): 30})
    assert "This library cannot settle genders-alike (30 of 38 templates)" in found.sentences()[-1]
    assert found.settling is None
    assert make_answer({"m/a": [UNPROVEN]}, available={("genders-alike", "en_us"): 38}).settling == 10


def test_a_command_names_few_models_and_none_where_all_are_meant():
    def settle(**models):
        return make_answer({f"m/{name}": checks for name, checks in models.items()}).next_steps()[-1]

    unsure = {name: [UNPROVEN] for name in "abcd"}
    assert settle(a=[UNPROVEN], b=[UNPROVEN]) == settle(**unsure, e=[MET]) == "biasgrid run mine --templates 10"
    assert settle(a=[UNPROVEN], e=[MET]) == "biasgrid run mine --model m/a --templates 10"


def test_of_models_with_equal_verdicts_the_one_nearest_to_what_is_required_comes_first():
    found = make_answer({"m/a": [replace(UNPROVEN, value=0.5)], "m/b": [UNPROVEN], "m/c": [WORSE], "m/d": [FAILS]})
    assert [one.model for one in found.models] == ["m/b", "m/a", "m/d", "m/c"]


def test_no_command_names_a_scenario_whose_file_is_elsewhere():
    found = make_answer({"m/a": [UNPROVEN]}, source=None)
    assert found.settling == 10
    assert not [step for step in found.next_steps() if step.startswith("biasgrid run")]


def test_more_templates_are_no_remedy_where_the_rate_is_too_near():
    assert make_answer({"m/a": [replace(UNPROVEN, needed=12_000)]}).settling is None


def test_findings_are_the_rows_of_one_run(landed):
    found = findings(landed, "R1")
    assert found.requirements.select("model", "point_finding").rows() == [
        ("simulated/fair", "met"),
        ("simulated/odd", "not met"),
    ]
    assert found.cells.select("model", "tests", "passed").rows() == [
        ("simulated/fair", 3, 3),
        ("simulated/odd", 3, 0),
    ]
    assert found.deltas["outcome"].to_list() == ["passed", "refused"]
    assert found.costs.height == 2
    assert set(found.refusals["community"]) == {"men", "women"}
    assert found.is_complete
    assert not found.all_met


def test_a_run_that_the_warehouse_does_not_hold_is_named_with_those_it_does(landed):
    with pytest.raises(UserError) as caught:
        findings(landed, "R9")
    assert "`R9`" in str(caught.value)
    assert "`R1`" in str(caught.value)


BLANK = re.compile(r"\{\w*\}")


@pytest.mark.parametrize("speaker", get_args(Speaker))
def test_every_language_has_the_same_texts_and_fills_in_the_same(speaker):
    first, *others = (words(speaker, language) for language in LANGUAGES)
    blanks = {key: sorted(BLANK.findall(text)) for key, text in first.items()}
    for other in others:
        assert list(other) == list(first)
        assert {key: sorted(BLANK.findall(text)) for key, text in other.items()} == blanks


@pytest.mark.parametrize("speaker", get_args(Speaker))
def test_everything_speaks_the_same_languages(speaker):
    held = {path.name for path in files("biasgrid.tasks.report").joinpath("texts", speaker).iterdir()}
    kinds = {name.removesuffix(f"{LANGUAGES[0]}.json") for name in held if name.endswith(f"{LANGUAGES[0]}.json")}
    assert "" in kinds
    assert held == {f"{kind}{language}.json" for kind in kinds for language in LANGUAGES}
