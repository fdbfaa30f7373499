"""`compare`: two runs of one kind beside each other, or two evaluations of one."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from biasgrid.flows.cli.options import Data


class CompareFormat(StrEnum):
    table, json, csv, markdown = "table", "json", "csv", "markdown"


def compare(
    earlier: Annotated[
        str,
        typer.Argument(
            metavar="RUN[@EVALUATION]",
            help="A run by its id, its beginning or end; after an @ one of its evaluations, else the newest.",
            show_default=False,
        ),
    ],
    later: Annotated[
        str,
        typer.Argument(
            metavar="RUN[@EVALUATION]",
            help="What it is compared with: another run, or another evaluation of the same.",
            show_default=False,
        ),
    ],
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--as",
            metavar="A=B",
            help="Compare model A of the first run with model B of the second, and no others; may be repeated. "
            "Where each run has one model, these are compared anyway.",
        ),
    ] = None,
    format: Annotated[CompareFormat, typer.Option("--format", help="How to tell it.")] = CompareFormat.table,  # noqa: A002
    table: Annotated[
        str | None,
        typer.Option(
            "--table",
            help="With `--format csv`: which table of the comparison; else its first, such as `requirements`.",
        ),
    ] = None,
    data: Data = None,
) -> None:
    """What got worse, what got better, and what else differs between two runs: prompt by prompt, tested, at a
    false-discovery rate of 5%. Probes, red teams and interactions are compared trial by trial, session by session
    and scene by scene, each with its own kind. Of two evaluations of one run: which verdicts moved, and why."""
    from biasgrid.flows.compare.compare import show

    show(earlier, later, pairs=models or (), kind=format.value, part=table, data=data)
