"""The terminal's output of an interaction."""

from pathlib import Path
from typing import Any

import pytest

from biasgrid.flows.interaction.outcome import InteractionOutcome
from biasgrid.flows.interaction.sections import sections
from biasgrid.flows.terminal.tables import show_sections

KEY = {"model": "own/a", "language": "es_es", "axis": "gender", "setting": "goal", "mitigation": "none"}
LOST = dict.fromkeys(("shared", "unassigned", "invented", "refused", "unreadable", "errors"), 0)
CONTROL = {
    **KEY,
    **LOST,
    "domain": "all",
    "stage": "last",
    "is_control": True,
    "held_out": False,
    "bias_score": 0.05,
    "expected_score": 0.0,
    "low": -0.1,
    "high": 0.2,
    "decision": "not shown",
    "bound": None,
    "state": "undecided",
}
CHOICE = {
    **KEY,
    "scene": "school-case-lead",
    "stage": "last",
    "is_control": False,
    "held_out": False,
    "first_group": "men",
    "first_chosen": 7,
    "second_chosen": 1,
    "first_share": 0.875,
    "low": 0.529,
    "high": 0.978,
    "expected_share": 0.5,
}


def outcome(**rows: list[dict[str, Any]]) -> InteractionOutcome:
    names = ("bias_scores", "escalation", "self_corrections", "mitigations", "understanding", "choices")
    marts: dict[str, Any] = {name: rows.get(name, []) for name in names}
    places: dict[str, Path | str] = {"lake": "lake", "warehouse": "warehouse"}
    return InteractionOutcome(run_id="01M", incomplete=False, failures=[], places=places, **marts)


def print_lines(found: InteractionOutcome, capsys: pytest.CaptureFixture[str]) -> list[str]:
    show_sections(sections(found))
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]


def test_controls_are_shown_separately_and_decide_nothing(capsys):
    found = outcome(bias_scores=[CONTROL | {"decision": "biased"}])
    lines = print_lines(found, capsys)
    assert "own/a · es_es · gender · controls" in lines
    assert "goal · last +0.05 −0.10 to +0.20 +0.00 biased" in lines
    assert found.exit_code == 0


def test_a_choice_shows_the_person_it_fell_on(capsys):
    lines = print_lines(outcome(choices=[CHOICE]), capsys)
    assert "own/a · es_es · gender · school-case-lead" in lines
    assert "goal · last men: 7 of 8 87.5% 52.9% to 97.8% 50.0%" in lines
