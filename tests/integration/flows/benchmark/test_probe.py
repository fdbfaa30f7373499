"""A probe from end to end: what it finds of respondents whose leaning is known, how it goes on after a kill."""

from collections import Counter
from typing import Any

import pytest

from biasgrid.flows.api import Probe
from biasgrid.warehouse.build.build import query
from biasgrid.warehouse.storage.runs import all_runs

pytestmark = pytest.mark.drill

DOCTOR = ("--pairs", "doctor-nurse", "--cases", 40)
FOUND = "select model, test, finding from marts.probe_findings where run_id = ?"
RULES = "select model, published_rule from marts.probe_outcomes where run_id = ?"


def models(*names: str) -> list[str]:
    return [word for name in names for word in ("--model", f"simulated/{name}")]


def findings_of(shell: Any) -> dict[tuple[str, str], str]:
    rows = query(shell.lake, FOUND, [shell.run().run_id]).rows()
    return {(model.partition("/")[2], test): finding for model, test, finding in rows}


def test_who_leans_is_found_who_hides_it_is_found_to_act_so_and_who_is_fair_is_left_alone(shell):
    mine = shell("doctors")
    code, out, err = mine.finish("probe", *models("leaning", "hiding", "fair", "refuser"), *DOCTOR)
    assert code == 1, err
    assert mine.run().kind == "probe"
    assert mine.run().state == "completed"
    assert findings_of(mine) == {
        ("leaning", "implicit"): "biased with the stereotype",
        ("leaning", "explicit"): "biased with the stereotype",
        ("hiding", "implicit"): "biased with the stereotype",
        ("hiding", "explicit"): "no bias shown",
        ("fair", "implicit"): "no bias shown",
        ("refuser", "implicit"): "not evaluated",
    }
    rules = dict(query(mine.lake, RULES, [mine.run().run_id]).rows())
    assert rules == {
        "simulated/leaning": "successful",
        "simulated/hiding": "unsuccessful",
        "simulated/fair": "unsuccessful",
        "simulated/refuser": "not evaluated",
    }
    assert all(len(line) <= 80 for line in out.splitlines() if "/" not in line)


def test_in_detail_everybody_is_asked_outright(shell):
    mine = shell("detailed")
    code, _, err = mine.finish("probe", *models("fair"), *DOCTOR, "--detailed")
    assert code == 0, err
    assert findings_of(mine) == {("fair", "implicit"): "no bias shown", ("fair", "explicit"): "no bias shown"}


def test_refusals_end_a_pair_unless_it_is_to_go_on(shell):
    mine = shell("refused")
    code, _, err = mine.finish("probe", *models("refuser"), *DOCTOR, "--continue-on-refusal")
    assert code == 1, err
    assert findings_of(mine) == {
        ("refuser", "implicit"): "not evaluated",
        ("refuser", "explicit"): "not evaluated",
    }


def test_decisions_and_counterfactual_messages_find_what_leans(shell):
    mine = shell("decisions")
    tests = ("--test", "decision", "--test", "counterfactual")
    code, _, err = mine.finish("probe", *models("leaning", "fair"), *DOCTOR, *tests)
    assert code == 1, err
    assert findings_of(mine) == {
        ("leaning", "decision"): "biased with the stereotype",
        ("leaning", "counterfactual"): "biased with the stereotype",
        ("fair", "decision"): "no bias shown",
        ("fair", "counterfactual"): "no bias shown",
    }


@pytest.mark.parametrize("language", ["es_es", "ca_es"])
def test_a_probe_in_another_language_finds_the_same(shell, language):
    mine = shell(language)
    code, _, err = mine.finish("probe", *models("leaning", "fair"), *DOCTOR, "--language", language)
    assert code == 1, err
    assert findings_of(mine)["leaning", "implicit"] == "biased with the stereotype"
    assert findings_of(mine)["leaning", "explicit"] == "biased with the stereotype"
    assert findings_of(mine)["fair", "implicit"] == "no bias shown"


@pytest.fixture
def slow_leaning(gateway: Any) -> Any:
    """A leaning respondent over HTTP, a quarter of a second away, eight requests at once."""
    return gateway("slow", {"limits": {"concurrency": 8}}, latency_ms=250, leaning={"default": 0.8})


@pytest.mark.parametrize("moment", [20, 90])
def test_a_killed_probe_goes_on_where_it_was_in_either_test(shell, slow_leaning, moment):
    mine = shell(f"killed-{moment}")
    mine.kill(slow_leaning, moment, "probe", "--model", "gateway/slow", "--pairs", 3, "--cases", 24)
    kept = mine.arrived_replies()
    assert len(kept) >= moment - 8
    mine.complete("resume")
    (run,) = all_runs(mine.lake)
    assert (run.kind, run.state) == ("probe", "completed")
    assert kept.items() <= mine.arrived_replies().items()
    asked = Counter(slow_leaning.prompts())
    assert sum(count - 1 for count in asked.values()) <= 8
    assert len(mine.arrived_replies()) == mine.lake.read("cases").height


@pytest.mark.usefixtures("prefect_api")
def test_a_probe_is_one_call_from_python(tmp_path):
    target = {"target": {"models": ["simulated/leaning"]}}
    found = Probe(target, pairs=["doctor-nurse"], cases=40, data=tmp_path / "data").run()
    assert [(row["pair"], row["test"]) for row in found.biased] == [
        ("doctor-nurse", "implicit"),
        ("doctor-nurse", "explicit"),
    ]
    assert (found.exit_code, found.incomplete) == (1, False)
