"""One run of pytest in a process of its own."""

import os
import sys
from pathlib import Path

import pytest

PYTEST_OPTIONS = ["-x", "-q", "-p", "no:cacheprovider", "-m", "not drill"]
PYTEST_OPTIONS += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # plugins are imported before pytest starts


def run_pytest(files: list[str], overlay: Path) -> None:
    os.chdir(overlay)
    os.environ["PYTHONPATH"] = str(overlay / "src")
    sys.path[:0] = [str(overlay / "src"), str(overlay / "tests")]
    silence = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(silence, descriptor)
    code = pytest.main([*PYTEST_OPTIONS, *files])
    os._exit(10 + code if code else 0)  # 1 is the exit code of a process that raised
