"""`catalog check`: is everything that can be asked well-formed?"""

from __future__ import annotations

import typer

app = typer.Typer(help="What can be asked.", no_args_is_help=True)


@app.callback()
def catalog() -> None:
    """What can be asked."""
