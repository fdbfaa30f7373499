import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "interactions.py"


@pytest.mark.drill
def test_bias_scores_and_escalation_are_what_players_were_made_to_show_in_a_few_replications():
    command = [sys.executable, str(SCRIPT), "--replications", "40"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line.partition(" ")[0] for line in done.stdout.splitlines()] == [
        *["fair,", "fair,", "escalating,", "escalating,", "steady,", "steady,"],
        *["fair,", "escalating,", "steady,"],
    ]
