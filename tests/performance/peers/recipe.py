"""A recipe for another tool: how it is installed apart from us, and how it asks the same prompts."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class Job:
    """The same work for every tool."""

    base_url: str
    prompts: Sequence[str]
    concurrency: int
    folder: Path
    """Empty, for its own files and output."""


@dataclass(frozen=True)
class Launch:
    """A process to be measured."""

    command: Sequence[str]
    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    """Added to ours."""


class Recipe(Protocol):
    """One module of this folder. Both functions get the folder in which the tool is, or shall be, installed."""

    NAME: str
    VERSION: str

    def install(self, home: Path) -> None: ...

    def launch(self, home: Path, job: Job) -> Launch: ...


def install_with_pip(home: Path, *packages: str) -> None:
    """A virtual environment of its own. Raises CalledProcessError where the registry does not have them."""
    subprocess.run([sys.executable, "-m", "venv", home], check=True)
    pip = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", *packages]
    subprocess.run(pip, check=True, stdout=subprocess.DEVNULL)
