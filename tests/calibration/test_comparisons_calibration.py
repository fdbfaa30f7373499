import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "comparisons.py"


@pytest.mark.drill
def test_comparisons_find_what_changed_and_by_how_much_in_a_few_replications():
    command = [sys.executable, str(SCRIPT), "--replications", "100"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    kinds = ("probe", "red team", "bias score", "escalation")
    assert [line.partition(",")[0] for line in done.stdout.splitlines()] == [
        kind for kind in kinds for _ in range(2)
    ]
