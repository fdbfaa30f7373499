"""`catalog validate`: sheets for two people who judge the assignments to tune on, and how far they agree."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="Let two people judge the assignments that models are tuned on, blind.", no_args_is_help=True
)


class AgreementFormat(StrEnum):
    table, json = "table", "json"


@app.command()
def sheets(
    out: Annotated[Path, typer.Option("--out", help="Directory to write into.", show_default=False)],
    sections: Annotated[int, typer.Option("--sections", min=1, max=50, help="Into how many parts.")] = 4,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Draws people, sections and orders.")] = 7,
    language: Annotated[str, typer.Option("--language", help="Of the assignments.")] = "en_us",
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
) -> None:
    """Write the sheets: per section and person one that asks whether bias is present, with no label and in an
    order of its own, and one with the reasons, to be opened once the first is done."""
    from flows.validating import write_sheets

    for path in write_sheets(out, language, seed, sections, force=force):
        typer.echo(f"wrote {path}")
    typer.echo("fill in `presence` (present or absent), then `reason_ok` (yes or no); then:")
    typer.echo(f"biasgrid catalog validate agreement {out}/*.csv")


@app.command()
def agreement(
    files: Annotated[list[Path], typer.Argument(help="Sheets that were filled in.", show_default=False)],
    format: Annotated[  # noqa: A002
        AgreementFormat, typer.Option("--format", help="How to show it.")
    ] = AgreementFormat.table,
) -> None:
    """How far two people agree with each other and with the labels: percent agreement, Cohen's κ and Gwet's AC1,
    over all and per section."""
    from flows.concordance_table import as_json, show
    from flows.validating import agreement as compared

    found = compared(files)
    if format == AgreementFormat.json:
        typer.echo(as_json(found))
    else:
        show(found)
