"""`biasgrid doctor` as a person sees it."""

import subprocess
from pathlib import Path

import pytest

from support.processes import BIASGRID, clean_environment

SECRET = "sk-not-to-be-shown"


def doctor(data: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [*BIASGRID, "doctor", "--data", str(data)]
    own = clean_environment(COLUMNS="80", NO_COLOR="1", **environment)
    return subprocess.run(command, env=own, capture_output=True, text=True, check=False)


@pytest.mark.drill
def test_a_machine_that_works_is_reported_so_in_words_within_80_columns(tmp_path):
    found = doctor(tmp_path, OPENAI_API_KEY=SECRET)
    assert found.returncode == 0, found.stderr
    assert found.stderr == ""
    assert max(map(len, found.stdout.splitlines())) <= 80
    assert "\x1b" not in found.stdout
    assert SECRET not in found.stdout
    parts = {line[6:].split("  ")[0].strip() for line in found.stdout.splitlines()}
    assert {"Python", "packages", "data", "warehouse", "runs", "catalogs", "key openai", "Prefect"} <= parts


@pytest.mark.drill
def test_what_is_broken_ends_in_exit_code_2_with_a_remedy(tmp_path):
    (tmp_path / "file").write_text("")
    found = doctor(tmp_path / "file")
    assert found.returncode == 2
    assert "broken" in found.stdout
    assert "→ name another directory" in found.stdout
    assert "Traceback" not in found.stderr
