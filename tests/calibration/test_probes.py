import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "probes.py"


@pytest.mark.drill
def test_a_probe_finds_what_is_there_and_nothing_else_in_a_few_replications():
    done = subprocess.run([sys.executable, SCRIPT, "30"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    told = done.stdout.splitlines()
    assert [line.partition(",")[0].partition(":")[0] for line in told] == [
        "strength 0",
        "strength 0.3",
        "strength 0.6",
        "strength 1",
        "hiding",
    ]
    assert told[-1] == "hiding: implicit found in 1.000, explicit in 0.000: holds"
