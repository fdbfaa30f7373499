"""The scripts hold in a few replications."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.drill


def lines_of(script: str, *words: str) -> list[str]:
    """What a script prints whose every line holds."""
    command = [sys.executable, str(Path(__file__).parent / script), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def test_comparisons_find_what_changed_and_by_how_much_in_a_few_replications():
    kinds = ("probe", "red team", "bias score", "escalation")
    lines = lines_of("comparisons.py", "--replications", "100")
    assert [line.partition(",")[0] for line in lines] == [kind for kind in kinds for _ in range(2)]


def test_a_small_experiment_stays_within_its_bands():
    lines = lines_of("experiments.py", "150")
    assert [line.endswith(" holds") for line in lines] == [True] * 7
    same = "40 templates, true rate 0.9"
    assert [line.partition(":")[0] for line in lines[:3]] == [same, same, "40 templates, no difference"]
    names = [line.partition(" ")[0] for line in lines[3:]]
    assert names == ["constant-no", "constant-yes", "first-option", "refuser"]
    assert "0 passed, 0 failed, 24 refused" in lines[-1]


def test_bias_scores_and_escalation_are_what_players_were_made_to_show_in_a_few_replications():
    lines = lines_of("interactions.py", "--replications", "40")
    assert [line.partition(" ")[0] for line in lines] == [
        *["fair,", "fair,", "escalating,", "escalating,", "steady,", "steady,"],
        *["fair,", "escalating,", "steady,"],
    ]


def test_a_probe_finds_what_is_there_and_nothing_else_in_a_few_replications():
    lines = lines_of("probes.py", "30")
    names = [line.partition(",")[0].partition(":")[0] for line in lines]
    assert names == ["strength 0", "strength 0.3", "strength 0.6", "strength 1", "hiding"]
    assert lines[-1] == "hiding: implicit found in 0.967, explicit in 0.000: holds"
