"""DuckDB 1.4, which other people's tools bundle, in an environment of its own."""

import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

EARLIER = "duckdb==1.4.*"
Run = Callable[..., str]
"""Runs a program with arguments in that environment; returns its standard output."""


@pytest.fixture(scope="session")
def earlier_duckdb(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("earlier-duckdb")
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    pip = (python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", EARLIER)
    installed = subprocess.run(pip, capture_output=True, text=True, check=False)
    if installed.returncode:
        pytest.skip(f"NO DUCKDB 1.4: no registry of packages can be reached: {installed.stderr.strip()[-200:]}")
    return lambda program, *arguments: run_program(program, *arguments, python=python)


def run_program(program: str, *arguments: object, python: Path | str = sys.executable) -> str:
    """Standard output of a program in a directory that has nothing of ours on its path."""
    command = [str(python), "-I", "-c", program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
