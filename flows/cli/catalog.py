"""`catalog check`: is everything that can be asked well-formed?"""

from __future__ import annotations

import typer

from flows.cli.options import Library

app = typer.Typer(help="What can be asked.", no_args_is_help=True)


@app.callback()
def catalog() -> None:
    """What can be asked."""


@app.command()
def check(library: Library = None) -> None:
    """Check the shipped catalogs, those of `BIASGRID_CATALOG`, or a library of templates: every finding with its
    file and line.

    Exit codes: 0 no error (warnings are shown), 2 at least one error.
    """
    from catalogs.lint import lint

    found = lint(library or "shipped")
    for finding in found.findings:
        typer.echo(str(finding))
    typer.echo(found.summary)
    if found.errors:
        raise typer.Exit(2)
