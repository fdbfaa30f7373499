import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "experiments.py"


@pytest.mark.drill
def test_a_small_experiment_stays_within_its_bands():
    done = subprocess.run([sys.executable, SCRIPT, "150"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    told = done.stdout.splitlines()
    assert [line.endswith(" holds") for line in told] == [True] * 7
    assert [line.partition(":")[0] for line in told[:3]] == [
        "40 templates, true rate 0.9",
        "40 templates, true rate 0.9",
        "40 templates, no difference",
    ]
    assert [line.partition(" ")[0] for line in told[3:]] == [
        "constant-no",
        "constant-yes",
        "first-option",
        "refuser",
    ]
    assert "0 passed, 0 failed, 24 refused" in told[-1]
