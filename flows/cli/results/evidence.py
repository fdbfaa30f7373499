"""`evidence verify`: whether a bundle is as it was written."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="Bundles for auditors, as `biasgrid report --format evidence` writes them.", no_args_is_help=True
)


@app.callback()
def evidence() -> None:
    """Bundles for auditors, as `biasgrid report --format evidence` writes them."""


@app.command()
def verify(
    file: Annotated[
        Path, typer.Argument(help="A bundle, or a folder that one was unpacked to.", show_default=False)
    ],
    digest: Annotated[
        str | None,
        typer.Option("--digest", help="The digest as it was signed or noted elsewhere.", show_default=False),
    ] = None,
) -> None:
    """Check every byte of a bundle: each file, the manifest, the zip around them.

    Prints the bundle's digest, the SHA-256 of its manifest: noted or signed elsewhere, and given with `--digest`,
    it shows that the whole bundle is the one that was meant. No bundle can show by itself who made it.

    Exit codes: 0 all is as written, 1 something was changed, is missing, added or renamed, or the digest is
    another, 2 there is no such file, or the digest is none.
    """
    from biasgrid.flows.results.report import checked, show_verified

    found = checked(file, digest)
    show_verified(file, found, digest)
    raise typer.Exit(0 if found.is_intact else 1)
