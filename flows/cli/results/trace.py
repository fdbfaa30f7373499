"""`trace`: from any id to requirement, template, prompt, response, verdict and finding."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from biasgrid.flows.cli.options import Data
from biasgrid.tasks.aggregate.trace import Kind


class TraceFormat(StrEnum):
    text, json = "text", "json"


def trace(
    id: Annotated[  # noqa: A002
        str,
        typer.Argument(
            help="Of a run, requirement, cell, template, instance, case, request, response or verdict, an "
            "attribute pair, a red team's session, a scene or its play; the beginning is enough.",
            show_default=False,
        ),
    ],
    run: Annotated[
        str | None, typer.Option("--run", help="In this run; else the newest that knows the id.")
    ] = None,
    model: Annotated[str | None, typer.Option("--model", help="Of this model alone.")] = None,
    kind: Annotated[
        Kind | None, typer.Option("--kind", help="What it is the id of, where it may be several.")
    ] = None,
    examples: Annotated[int, typer.Option("--examples", min=0, help="Prompts to show, of those it leads to.")] = 3,
    sql: Annotated[bool, typer.Option("--sql", help="The SQL that made the finding, as a script.")] = False,
    format: Annotated[TraceFormat, typer.Option("--format", help="How to tell it.")] = TraceFormat.text,  # noqa: A002
    data: Data = None,
) -> None:
    """From any id to requirement, template, prompt, response, verdict and finding: what was asked and answered,
    and why it counts as it does."""
    from biasgrid.flows.results.trace import show

    show(
        id,
        kind=kind,
        run=run,
        model=model,
        examples=examples,
        as_json=format == TraceFormat.json,
        with_sql=sql,
        data=data,
    )
