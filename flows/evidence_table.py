"""What became of checking a bundle, on the terminal."""

from __future__ import annotations

from pathlib import Path

import typer

from flows.counting import number
from flows.terminal import readable
from tasks.report.evidence.verify import Verified

SHOWN = 50
"""Flaws told at once."""
PROVES_NOT = (
    "This shows that the files are those of the manifest, not who made them or when: whoever changes a file can",
    "write a new manifest. Its digest is another then: note or sign it, or have it time-stamped, somewhere else.",
)


def show_verified(path: Path, found: Verified, digest: str | None) -> None:
    """Every flaw, the digest, and what the check cannot prove."""
    for flaw in found.flaws[:SHOWN]:
        typer.echo(readable(flaw).replace("\n", " "))
    if len(found.flaws) > SHOWN:
        typer.echo(f"… and {len(found.flaws) - SHOWN} more")
    typer.echo(_verdict(path, found, digest))
    if found.digest:
        typer.echo(f"digest  {found.digest}")
    if found.is_intact:
        typer.echo("\n".join(PROVES_NOT))


def _verdict(path: Path, found: Verified, digest: str | None) -> str:
    if found.manifest is None or not found.is_intact:
        return f"{readable(path)} is NOT as it was written"
    run, count = found.manifest.run, len(found.manifest.files)
    meant = ", and the digest is the one given" if digest else ""
    state = "" if found.manifest.complete else f", a run that was not complete ({readable(run.state)})"
    files = f"{number(count, 'file')} of run {readable(run.run_id)}"
    return f"{readable(path)} is as it was written: {files}{state}{meant}"
