"""Options that several commands share."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from biasgrid.catalogs.errors import Problem, UserError


class Gate(StrEnum):
    point, decided = "point", "decided"


Data = Annotated[
    str | None,
    typer.Option(
        "--data",
        metavar="DIR|s3://…",
        help="Where lake and warehouse lie; else `BIASGRID_DATA`, else `data`.",
    ),
]
Library = Annotated[
    Path | None,
    typer.Option("--library", help="Templates to use: a file or directory, LangBiTe's format included."),
]
Models = Annotated[
    list[str] | None,
    typer.Option("--model", help="`provider/model`; may be repeated. Replaces the scenario's."),
]
Samples = Annotated[int | None, typer.Option("--samples", min=1, help="How often each prompt is asked.")]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Chooses templates and seeds samples.")]
ScenarioFile = Annotated[
    Path, typer.Argument(help="A scenario file: YAML, or LangBiTe's JSON.", show_default=False)
]
RunId = Annotated[str | None, typer.Argument(help="A run's id or its beginning or end; else the newest.")]
Force = Annotated[bool, typer.Option("--force", help="Replace a file that exists.")]
MaxAge = Annotated[
    str | None,
    typer.Option("--max-age", help="With `--reuse all`: how old a reply may be, such as `12h` or `7d`."),
]
MaxCost = Annotated[
    float | None, typer.Option("--max-cost", help="US dollars that the run may spend; then it stops.")
]
MaxRequests = Annotated[
    int | None, typer.Option("--max-requests", help="Requests that the run may send; then it stops.")
]
Batch = Annotated[
    bool | None,
    typer.Option(
        "--batch/--no-batch", help="Ask through batch APIs where providers have one: cheaper, within a day."
    ),
]
Expectations = Annotated[
    bool,
    typer.Option(
        "--expectations",
        help="Replace the warehouse only if lake and marts are as expected, as `warehouse check` does.",
    ),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before money is spent.")]
GateOption = Annotated[
    Gate,
    typer.Option(
        "--gate",
        help="What the exit code goes by: the `point` rate, as LangBiTe's, or what the interval has `decided`.",
    ),
]


UNDESCRIBED: Final[dict[str, Any]] = {"target": {}}
"""In place of a file: a model alone, of which nothing is known."""
TargetPath = Annotated[
    Path | None,
    typer.Argument(help="A target file: a model or a chatbot, and what is asked of it.", show_default=False),
]
TargetModels = Annotated[
    list[str] | None,
    typer.Option("--model", help="`provider/model`; may be repeated. Replaces the target's."),
]
Pairs = Annotated[
    list[str] | None,
    typer.Option("--pairs", help="How many attribute pairs, or one by name; then it may be repeated."),
]
Axes = Annotated[
    list[str] | None, typer.Option("--axis", help="Pairs of this axis, such as `gender`; may be repeated.")
]
Languages = Annotated[list[str] | None, typer.Option("--language", help="Such as `en_us`; may be repeated.")]


def refuse_nothing(target: Path | None, models: list[str] | None) -> None:
    """Raises UserError where neither a file nor a model is named."""
    if target is None and not models:
        raise UserError(Problem("nothing is named", remedy="name a target file, or a model by `--model`"))


def how_many_or_which(pairs: list[str] | None) -> int | list[str] | None:
    """What `--pairs` says: a number where it is one."""
    if pairs and len(pairs) == 1 and pairs[0].removeprefix("-").isdecimal():
        return int(pairs[0])
    return pairs or None


@dataclass(frozen=True, slots=True)
class FileKind:
    """What such a file is called, the keys that only it has, and the commands that take it."""

    called: str
    keys: frozenset[str]
    commands: tuple[str, ...]


SCENARIO: Final = FileKind("a scenario", frozenset({"scenario", "requirements"}), ("run",))
TARGET: Final = FileKind("a target file", frozenset({"target"}), ("probe", "redteam"))
INTERACTION: Final = FileKind("an interaction file", frozenset({"interaction"}), ("interact",))
KINDS: Final = (SCENARIO, TARGET, INTERACTION)


def refuse_other_files(path: Path | None, wanted: FileKind) -> None:
    """Raises UserError for a file that has the keys of another kind and none of those wanted. What is wrong with
    any other file whoever reads it tells better."""
    keys = _keys(path) if path else frozenset[str]()
    found = next((kind for kind in KINDS if kind.keys & keys), None)
    if found is None or wanted.keys & keys:
        return
    commands = " or ".join(f"`biasgrid {command} {path}`" for command in found.commands)
    raise UserError(Problem(f"is {found.called}, and {wanted.called} is wanted", str(path), f"try {commands}"))


def _keys(path: Path) -> frozenset[str]:
    from biasgrid.catalogs.loading.documents import read_document

    try:
        value = read_document(path).value
    except UserError:
        return frozenset()
    return frozenset(map(str, value)) if isinstance(value, dict) else frozenset()
