"""`catalog`: what can be asked, how well-formed it is, what it covers, and where more of it comes from."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from biasgrid.flows.cli.augment import accept, augment

validate = typer.Typer(
    help="Let two people judge the assignments that models are tuned on, blind.", no_args_is_help=True
)


class AgreementFormat(StrEnum):
    table, json = "table", "json"


@validate.command()
def sheets(
    out: Annotated[Path, typer.Option("--out", help="Directory to write into.", show_default=False)],
    sections: Annotated[int, typer.Option("--sections", min=1, max=50, help="Into how many parts.")] = 4,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Draws people, sections and orders.")] = 7,
    language: Annotated[str, typer.Option("--language", help="Of the assignments.")] = "en_us",
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
) -> None:
    """Write the sheets: per section and person one that asks whether bias is present, with no label and in an
    order of its own, and one with the reasons, to be opened once the first is done."""
    from biasgrid.flows.review.validate_tuning_set import write_sheets

    for path in write_sheets(out, language, seed, sections, force=force):
        typer.echo(f"wrote {path}")
    typer.echo("fill in `presence` (present or absent), then `reason_ok` (yes or no); then:")
    typer.echo(f"biasgrid catalog validate agreement {out}/*.csv")


@validate.command()
def agreement(
    files: Annotated[list[Path], typer.Argument(help="Sheets that were filled in.", show_default=False)],
    format: Annotated[  # noqa: A002
        AgreementFormat, typer.Option("--format", help="How to show it.")
    ] = AgreementFormat.table,
) -> None:
    """How far two people agree with each other and with the labels: percent agreement, Cohen's κ and Gwet's AC1,
    over all and per section."""
    from biasgrid.flows.review.validate_tuning_set import agreement as compared
    from biasgrid.flows.review.validate_tuning_set import as_json, show

    found = compared(files)
    if format == AgreementFormat.json:
        typer.echo(as_json(found))
    else:
        show(found)


app = typer.Typer(help="What can be asked.", no_args_is_help=True)


class CheckFormat(StrEnum):
    text, json = "text", "json"


class StatsFormat(StrEnum):
    table, csv, json = "table", "csv", "json"


class ImportFormat(StrEnum):
    langbite, bbq, esbbq, iat, responses = "langbite", "bbq", "esbbq", "iat", "responses"
    interactions = "interactions"
    crows_pairs = "crows-pairs"


@app.callback()
def catalog() -> None:
    """What can be asked."""


@app.command()
def check(
    library: Annotated[
        str | None,
        typer.Option("--library", help="Templates to check: a file or directory, LangBiTe's format included."),
    ] = None,
    language: Annotated[
        str | None,
        typer.Option("--language", help="Of a table whose name does not say, such as `es_es`."),
    ] = None,
    format: Annotated[CheckFormat, typer.Option("--format", help="How to show it.")] = CheckFormat.text,  # noqa: A002
) -> None:
    """Check the shipped catalogs, those of `BIASGRID_CATALOG`, or a library of templates: every finding with its
    file and line.

    Exit codes: 0 no error (warnings are shown), 2 at least one error.
    """
    from biasgrid.catalogs.errors import Problem, UserError
    from biasgrid.catalogs.lint.check import lint

    if library is not None and not library.strip():
        remedy = "name a file or directory of templates, or leave the option out"
        raise UserError(Problem("no library is named", "--library", remedy))
    found = lint(library or "shipped", language=language)
    if format == CheckFormat.json:
        typer.echo(found.as_json())
    else:
        for finding in found.findings:
            typer.echo(str(finding))
        typer.echo(found.summary)
    if found.errors:
        raise typer.Exit(2)


@app.command()
def stats(
    library: Annotated[
        str,
        typer.Option("--library", help="Templates to look at: a file or directory, LangBiTe's format included."),
    ] = "shipped",
    format: Annotated[StatsFormat, typer.Option("--format", help="How to show it.")] = StatsFormat.table,  # noqa: A002
    concern: Annotated[list[str] | None, typer.Option("--concern", help="Of this alone; may be repeated.")] = None,
    language: Annotated[
        list[str] | None, typer.Option("--language", help="Of this alone, such as `en_us`; may be repeated.")
    ] = None,
    tolerance: Annotated[float, typer.Option("--tolerance", help="What is to be decided: a share, 0–1.")] = 0.9,
) -> None:
    """What a library covers, per language, concern, input and reflection: templates and instances, what constant
    answers pass, and what can be decided with so many."""
    from biasgrid.flows.catalog.coverage_view import stats as shown

    shown(library, format.value, concern or (), language or (), tolerance)


@app.command(name="import")
def import_(
    format: Annotated[ImportFormat, typer.Argument(help="What the files are.", show_default=False)],  # noqa: A002
    files: Annotated[list[Path], typer.Argument(help="One or several files of it.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", help="Directory to write into.", show_default=False)],
    language: Annotated[str, typer.Option("--language", help="What the files are in.")] = "en_us",
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
) -> None:
    """Bring in benchmarks and replies of others: a library and a scenario ready to run, a recording that
    `replay/FILE` plays back, or a catalog of scenes and assignments to tune on. Rows that cannot be brought over
    are listed with their reason."""
    from biasgrid.flows.catalog.importer import import_files, show_import

    show_import(import_files(format.value, files, out, language, force=force))


app.command()(augment)
app.command()(accept)
app.add_typer(validate, name="validate")
