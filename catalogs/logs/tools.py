"""The tools whose logs can be read, and which of them wrote a file."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from biasgrid.catalogs.errors import Problem, UserError, nearest
from biasgrid.catalogs.logs.files import Record, Tree, read_first

Score = tuple[Any, str | None]
"""Value and reason."""

MODULES: Final[Mapping[str, str]] = {
    "inspect": "inspect_ai",
    "lm-eval": "lm_eval",
    "helm": "helm",
    "promptfoo": "promptfoo",
    "deepeval": "deepeval",
    "openai-batch": "openai_batch",
    "anthropic-batch": "anthropic_batch",
    "jsonl": "jsonl",
}
"""Module of each format, the one that takes any JSON lines last."""
ANYTHING: Final = "jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """How the logs of a tool are recognised and read."""

    assessor: str
    """The name of its scores in the verdicts."""
    fields: Mapping[str, str]
    """Where the fields of a sample stand in a record."""
    wrote: Callable[[Tree], bool]
    """Whether it wrote a file with this first object."""
    read: Callable[[Sequence[Path]], Iterator[Record]]
    scores: Callable[[Tree], Mapping[str, Score]] = lambda _: {}
    """The scores of a record, by name."""


def find_tool(name: str) -> Tool:
    """The tool of a format. Raises UserError."""
    if name not in MODULES:
        raise UserError(Problem(f"`{name}` is no format of logs", "--from", nearest(name, MODULES)))
    tool: Tool = import_module(f"{__package__}.formats.{MODULES[name]}").TOOL
    return tool


def recognise(*paths: Path) -> str:
    """The format of files that belong together, by their contents. Raises UserError."""
    found = None
    for path in paths:
        found = _recognise(path) or found
        if found not in (None, ANYTHING):
            break
    if found:
        return found
    tools = "inspect-ai, lm-eval, HELM, promptfoo, DeepEval or a batch"
    remedy = f"name a log that {tools} has written whole, or one JSON object a line"
    raise UserError(Problem("is no log that is known", str(paths[0]), remedy))


def _recognise(path: Path) -> str | None:
    if zipfile.is_zipfile(path):
        return "inspect"
    first = read_first(path)
    return next((name for name in MODULES if first is not None and find_tool(name).wrote(first)), None)


def list_files(given: Sequence[Path]) -> list[Path]:
    """The files, and of a directory the logs in it. Raises UserError."""
    found = [file for path in given for file in (_logs_in(path) if path.is_dir() else [path])]
    absent = [Problem("is not there", str(path), "name a log file") for path in found if not path.is_file()]
    if absent or not found:
        raise UserError(absent or Problem("holds no log", str(given[0]), "name a file"))
    return found


def _logs_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix in (".eval", ".json", ".jsonl"))
