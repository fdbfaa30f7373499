"""The page of a finished run: what became worse first, and commands that can be copied as they are."""

import shlex
from pathlib import Path
from typing import Any

from biasgrid.flows.benchmark.outcome import Outcome
from biasgrid.flows.benchmark.previous_runs import EarlierRuns
from biasgrid.flows.benchmark.summary import NightTables, changed_page, summary
from biasgrid.flows.terminal.markdown import Markup

ODD = "equal *treatment*, it's |all|"


def finding(requirement: str = "alike", point: str = "met") -> dict[str, Any]:
    rates = {"rate": 0.5, "measure": "tests", "tolerance": 0.9}
    return {"model": "a/x", "requirement": requirement, "point_finding": point, "decision": point, **rates}


def change(finding: str, requirement: str = "alike") -> dict[str, Any]:
    rates = {"rate": 0.75, "earlier_rate": 0.9, "templates": 1200, "test": "McNemar", "q_value": 0.0012}
    return {"model": "a/x", "requirement": requirement, "finding": finding, "earlier_run_id": "R0", **rates}


def page(*findings: dict[str, Any], before: EarlierRuns | None = None, **more: Any) -> str:
    found = Outcome("R1", [*findings], False, [], {"lake": Path()})
    return summary(found, "mine", "/my data", before, **more)


def commands(text: str) -> list[list[str]]:
    return [shlex.split(line) for line in text.splitlines() if line.startswith("biasgrid ")]


def test_what_became_worse_comes_first_in_words_with_its_test():
    text = page(finding(), before=EarlierRuns([change("worse", ODD), change("better")], []))
    sentence = (
        r"- **equal \*treatment\*, it's \|all\|** of a/x passes 75.0% over the 1,200 templates that both "
        "runs judged, 90.0% before (McNemar, q = 0.0012)"
    )
    assert sentence in text
    assert text.index(sentence) < text.index("## Requirements")
    assert text.count("that both runs judged") == 1


def test_a_command_that_is_copied_names_the_finding_the_run_and_the_data():
    text = page(finding(ODD, "not met"), finding("other"), before=EarlierRuns([change("better")], []))
    report, compare, sql, trace = commands(text)
    assert report == ["biasgrid", "report", "R1", "--data", "/my data"]
    assert compare == ["biasgrid", "compare", "R0", "R1", "--data", "/my data"]
    assert sql[2] == "from marts.requirement_findings where run_id = 'R1'"
    wanted = ["trace", ODD, "--kind", "requirement", "--model", "a/x", "--run", "R1", "--data", "/my data"]
    assert trace == ["biasgrid", *wanted]


def test_a_first_run_is_compared_with_nothing():
    text = page(finding())
    assert "compare" not in text
    assert "Worse" not in text


def test_of_many_that_are_not_met_the_first_get_a_command_and_the_rest_is_counted():
    text = page(*(finding(f"r{number}", "not met") for number in range(20)))
    assert [words[2] for words in commands(text) if words[1] == "trace"] == [f"r{number}" for number in range(12)]
    assert "and 8 more" in text


def test_a_night_links_who_asked():
    text = page(finding(), night=NightTables([("shard · x_*y*", "Completed", Markup("[open](/runs/flow-run/1)"))]))
    assert r"| shard · x\_\*y\* | Completed | [open](/runs/flow-run/1) |" in text


def test_the_comparison_page_states_that_nothing_is_worse():
    text = changed_page(EarlierRuns([change("no difference shown")], []), "R1")
    assert "Run `R1` against `R0`" in text
    assert "Nothing is worse by a test." in text
    assert "| a/x | alike | no difference shown | 90.0% → 75.0% | 1,200 | 0.0012 | McNemar |" in text
