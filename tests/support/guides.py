"""The files of a guide, and the package that they make."""

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from support.paths import ROOT

Block = tuple[str, str]
"""Language and text."""


def blocks_of(guide: str) -> list[Block]:
    """Those of a page of docs/guides that are a file each."""
    text = (ROOT / "docs" / "guides" / guide).read_text(encoding="utf-8")
    return re.findall(r"```(toml|python|yaml)\n(.*?)```", text, re.DOTALL)


def install(folder: Path, names: Sequence[str], blocks: Sequence[Block]) -> Path:
    """The folder with a guide's files, whose package is installed in `site` below it."""
    for name, (_, text) in zip(names, blocks, strict=True):
        (folder / name).write_text(text, encoding="utf-8")
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--target", str(folder / "site")]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, str(folder)], check=True)
    return folder
