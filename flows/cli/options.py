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
