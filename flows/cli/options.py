"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

from biasgrid.flows.runs.options import RunOptions, option, replace_option

Data = Annotated[
    str | None,
    typer.Option(
        "--data",
        metavar="DIR|s3://…|gs://…|az://…",
        help="Where lake and warehouse lie; else `BIASGRID_DATA`, else `data`.",
    ),
]
RunId = Annotated[str | None, typer.Argument(help="A run's id or its beginning or end; else the newest.")]
Force = Annotated[bool, typer.Option("--force", help="Replace a file that exists.")]
DATA = replace_option(RunOptions, "data")
RUN_ID = option(None, "", "A run's id or its beginning or end; else the newest.")
FORCE = option(False, "--force", "Replace a file that exists.")
