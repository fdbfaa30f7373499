"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[
    Path | None, typer.Option("--data", help="Where lake and warehouse lie; else `BIASGRID_DATA`, else `data`.")
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
