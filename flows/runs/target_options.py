"""Options of the kinds that take a target file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from biasgrid.flows.runs.options import RunOptions, option


def number_or_names(given: list[str] | None) -> int | list[str] | None:
    """A number where that is all that is given, else names."""
    if given and len(given) == 1 and given[0].removeprefix("-").isdecimal():
        return int(given[0])
    return given or None


@dataclass(frozen=True, kw_only=True)
class TargetOptions(RunOptions):
    """What may be given with a target file."""

    target: str | dict[str, Any] | None = option(
        None,
        "",
        "A target file: a model or a chatbot, and what is asked of it.",
        "the path of a target file that the worker reads, or its content as JSON",
        cli=Path | None,
        show_default=False,
    )
    models: list[str] | None = option(
        None,
        "--model",
        "`provider/model`; may be repeated. Replaces the target's.",
        section="target",
    )
    pairs: int | list[str] | None = option(
        None,
        "--pairs",
        "How many attribute pairs, or one by name; then it may be repeated.",
        "how many attribute pairs, or which ones; None: as the target has it",
        cli=list[str] | None,
        read=number_or_names,
    )
    axes: list[str] | None = option(None, "--axis", "Pairs of this axis, such as `gender`; may be repeated.")
    languages: list[str] | None = option(None, "--language", "Such as `en_us`; may be repeated.", section="target")
