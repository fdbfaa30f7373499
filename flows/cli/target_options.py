"""Options of the commands that take a target file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final

import typer

from catalogs.mistakes import Mistake, UserMistake

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
    """Raises UserMistake where neither a file nor a model is named."""
    if target is None and not models:
        raise UserMistake(Mistake("nothing is named", remedy="name a target file, or a model by `--model`"))


def how_many_or_which(pairs: list[str] | None) -> int | list[str] | None:
    """What `--pairs` says: a number where it is one."""
    if pairs and len(pairs) == 1 and pairs[0].removeprefix("-").isdecimal():
        return int(pairs[0])
    return pairs or None
