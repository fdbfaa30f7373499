"""What became of checking a bundle, on the terminal."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import typer

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.flows.terminal.plurals import format_count
from biasgrid.flows.terminal.progress import readable
from biasgrid.tasks.report.evidence.manifest import Newer
from biasgrid.tasks.report.evidence.verify import Flaw, Verified, verify

DIGEST = re.compile(r"[0-9a-f]{64}")


def checked(path: Path, digest: str | None = None) -> Verified:
    """What became of looking at every byte; another digest than `digest` is a flaw. Raises UserError where there
    is nothing to look at, and for a digest that is none."""
    wanted = digest.strip().lower() if digest is not None else None
    if wanted is not None and not DIGEST.fullmatch(wanted):
        remedy = "a digest is 64 digits, 0 to 9 and a to f, as `biasgrid evidence verify` prints it"
        raise UserError(Problem(f"`{digest}` is no digest", "--digest", remedy))
    try:
        found = verify(path)
    except Newer as error:
        what, remedy = f"`{path}` cannot be checked: {error}", "check it with a newer biasgrid"
        raise UserError(Problem(what, "FILE", remedy)) from error
    except OSError as error:
        what = f"`{error.filename or path}` cannot be read: {error.strerror or error}"
        remedy = "name a bundle, `….evidence.zip`, or the folder that it was unpacked to"
        raise UserError(Problem(what, "FILE", remedy)) from error
    if wanted is None or found.digest == wanted:
        return found
    another = Flaw("another bundle than the one meant", f"its digest is not {wanted}")
    return replace(found, flaws=(*found.flaws, another))


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
    files = f"{format_count(count, 'file')} of run {readable(run.run_id)}"
    return f"{readable(path)} is as it was written: {files}{state}{meant}"
