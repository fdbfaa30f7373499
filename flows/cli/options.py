"""Options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


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
RunId = Annotated[str | None, typer.Argument(help="A run's id or its beginning or end; else the newest.")]
Force = Annotated[bool, typer.Option("--force", help="Replace a file that exists.")]
