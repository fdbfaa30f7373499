"""From findings to exit codes, and what the terminal and the Prefect UI say of them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from biasgrid.flows.benchmark.outcome import Outcome
from biasgrid.flows.benchmark.sections import sections
from biasgrid.flows.benchmark.summary import summary
from biasgrid.flows.runs.outcome import INCOMPLETE, MET, NOT_MET, UNDECIDED
from biasgrid.flows.terminal.encoding import FOR_PEOPLE
from biasgrid.flows.terminal.tables import show_sections


def finding(
    point: str, decision: str, templates_needed: int | None = None, name: str = "genders"
) -> dict[str, Any]:
    rates = {"rate": 0.95, "refusal_rate": 0.0, "tolerance": 0.9, "interval_low": 0.8, "interval_high": 0.99}
    counts = {"tests": 20, "cells": 4, "cells_met": 4, "templates_needed": templates_needed, "is_complete": True}
    there = {
        "worst_language": "es_es",
        "measure": "tests",
        "counted_templates": 21,
        "not_evaluated_because": None,
        "parity_because": None,
    }
    about = {"requirement": name, "model": "simulated/m", "point_finding": point, "decision": decision}
    return about | rates | counts | there


def outcome_of(*findings: dict[str, Any], incomplete: bool = False) -> Outcome:
    places: dict[str, Path | str] = {"warehouse": Path("x")}
    return Outcome(run_id="R1", findings=list(findings), incomplete=incomplete, failures=[], places=places)


MET_UNDECIDED = finding("met", "undecided", 38)


@pytest.mark.parametrize(
    ("found", "point", "decided"),
    [
        (outcome_of(finding("met", "met")), MET, MET),
        (outcome_of(MET_UNDECIDED), MET, UNDECIDED),
        (outcome_of(finding("not met", "undecided")), NOT_MET, UNDECIDED),
        (outcome_of(MET_UNDECIDED, finding("met", "not met")), MET, NOT_MET),
        (outcome_of(MET_UNDECIDED, finding("not evaluated", "not evaluated")), NOT_MET, NOT_MET),
        (outcome_of(finding("not met", "not met"), incomplete=True), INCOMPLETE, INCOMPLETE),
    ],
)
def test_incomplete_goes_before_not_met_and_that_before_undecided(found, point, decided):
    assert (found.exit_code, found.exit_code_by("point"), found.exit_code_by("decided")) == (point, point, decided)


def test_decisions_of_people_are_shown(capsys):
    people = {"decided_by_people": 3, "overridden_by_people": 2}
    show_sections(sections(outcome_of(finding("met", "met") | people, finding("met", "met"))))
    assert "3 verdicts are a person's decision, 2 of them other than what stood before" in capsys.readouterr().out
    show_sections(sections(outcome_of(finding("met", "met"))))
    assert "person" not in capsys.readouterr().out


def test_a_judge_that_gave_no_verdict_is_shown(capsys):
    silent = {"assessor": "own/judge", "asked": 1200, "n": 1100, "refused": 90, "unreadable": 10, "failed": 0}
    show_sections(sections(replace(outcome_of(finding("met", "met")), silent_judges=[silent])))
    printed = capsys.readouterr().out
    assert "own/judge gave no verdict on 100 of 1,200 replies: 90 refused, 10 unreadable" in printed


def test_the_table_shows_the_decision_next_to_the_point(capsys):
    show_sections(
        sections(
            outcome_of(
                finding("met", "undecided", 934, name="a-requirement-of-a-name-that-is-longer-than-the-column"),
                finding("not evaluated", "not evaluated", name="refused"),
            )
        )
    )
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 80
    assert ["meets", "not", "proven", "95.0%", "tests", "90%", "0.0%"] in [
        line.split()[1:] for line in printed.splitlines()
    ]
    assert "needs ≥ 934 templates" in printed
    assert ["refused", "no", "answer", "–", "95.0%", "tests", "90%", "0.0%"] in [
        line.split() for line in printed.splitlines()
    ]
    assert "decided by 95% intervals: 1 not proven, 1 no answer" in printed


def test_a_wide_terminal_shows_what_was_decided_by(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    show_sections(sections(outcome_of(finding("met", "undecided", 934))))
    heading, _, row, *rest = capsys.readouterr().out.splitlines()
    assert "95% interval" in heading
    assert row.split()[-7:] == ["0.0%", "80.0–99.0%", "es_es", "21", "≥", "934", "4/4"]
    assert not any("needs" in line for line in rest)


def test_more_templates_than_a_library_can_hold_are_no_number(capsys, monkeypatch):
    words = "no library of templates can show this: the rate is too near the tolerance"
    show_sections(sections(outcome_of(finding("met", "undecided", 12_426))))
    printed = capsys.readouterr().out
    assert words in printed
    assert "12,426" not in printed
    monkeypatch.setenv("COLUMNS", "160")
    show_sections(sections(outcome_of(finding("met", "undecided", 12_426))))
    assert capsys.readouterr().out.splitlines()[2].split()[-2:] == ["none", "4/4"]


def test_hostile_names_are_shown_in_one_line_and_steer_nothing(capsys):
    name = "[red]a[/red]\x1b[31m\nmet 100%\u202egnp"
    show_sections(sections(outcome_of(finding("met", "met", name=name) | {"model": name})))
    model, requirement = capsys.readouterr().out.splitlines()[1:3]
    for line in (model, requirement):
        assert line.lstrip().startswith("[red]a[/red]\\x1b[31m\\nmet")
    assert "\\u202egnp" in model


def test_marks_that_an_encoding_lacks_are_put_in_plainer_ones(capsys):
    show_sections(sections(outcome_of(finding("met", "undecided", 38))))
    plain = capsys.readouterr().out.encode("ascii", FOR_PEOPLE).decode()
    assert "80.0-99.0% in es_es; needs >= 38 templates" in plain
    assert "\\u" not in plain


def test_what_is_decided_needs_nothing_more(capsys):
    show_sections(sections(outcome_of(finding("met", "met"))))
    assert "needs" not in capsys.readouterr().out


def test_the_summary_counts_both():
    printed = summary(outcome_of(finding("met", "met"), MET_UNDECIDED), "mine", "data")
    assert "| simulated/m | 2 | 0 | 0 | 1 | 0 | 1 |" in printed
