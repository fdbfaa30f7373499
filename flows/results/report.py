"""A run's reports by format, and the check of an evidence bundle."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import typer

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.flows.results.report_formats import FORMATS
from biasgrid.flows.runs.kinds import AnyKind, all_kinds, find_kind
from biasgrid.flows.runs.prepare import existing_lake
from biasgrid.flows.runs.run_state import warn_of_unfinished
from biasgrid.flows.terminal.console import readable
from biasgrid.tasks.report.evidence.manifest import Newer
from biasgrid.tasks.report.evidence.verify import Flaw, Verified, verify
from biasgrid.tasks.report.evidence.write import write_evidence
from biasgrid.tasks.report.figures import format_count
from biasgrid.tasks.report.html.page_cache import renew
from biasgrid.tasks.report.html.site_pages import PagesOf, Site, write_lake_pages
from biasgrid.tasks.report.languages import LANGUAGES
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import find_run, refuse_other_kinds

DIGEST = re.compile(r"[0-9a-f]{64}")


def check_bundle(path: Path, digest: str | None = None) -> Verified:
    """Result of verifying every byte; raises UserError if there is nothing to verify or `digest` is invalid."""
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
"""Flaws shown at once."""
PROVES_NOT = (
    "This shows that the files are those of the manifest, not who made them or when: who changes a file can",
    "write a new manifest. Its digest is another then: note or sign it, or have it time-stamped, somewhere else.",
)


def show_verified(path: Path, found: Verified, digest: str | None) -> None:
    """All errors, the digest, and the limits of the check."""
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


def _pages(kind: AnyKind) -> PagesOf:
    writer, first = kind.pages
    return PagesOf(resolve_name(writer), first)


def write_html(lake: Lake, run_id: str, out: Path, language: str = LANGUAGES[0]) -> list[Path]:
    """The pages of the run's kind, unless those in the folder are still current."""
    kind = find_kind(find_run(lake, run_id).kind)
    return renew(out, partial(_pages(kind).write, lake, run_id, language=language))


def write_bundle(
    lake: Lake, run_id: str, out: Path, language: str = LANGUAGES[0], *, texts: bool = False
) -> list[Path]:
    """The evidence bundle, with the pages of the run's kind but for those to which other runs contribute.
    Of a kind whose prompts hold people's documents, hashes stand for texts, unless `texts`."""
    kind = find_kind(find_run(lake, run_id).kind)
    texts = texts or not kind.has_documents
    own = kind.pages_alone if texts else {**kind.pages_alone, "texts": False}
    pages = partial(_pages(kind).write, language=language, **own)
    return write_evidence(lake, run_id, out, pages=pages, language=language, texts=texts)


def write_report(
    run: str | None, kind: str, out: Path | None = None, data: str | Path | None = None, **options: Any
) -> list[Path]:
    """Writes a report into `reports/<run id>` by default, and returns its files. `options`: of any format, each
    taken by the writers that know it. Raises UserError."""
    lake = existing_lake(data)
    found, chosen = find_run(lake, run, needs="report"), FORMATS[kind]
    fitting = (
        one.name for one in all_kinds() if (chosen.is_for_all and kind not in one.lacks) or kind in one.formats
    )
    refuse_other_kinds(found, chosen.name, *fitting)
    warn_of_unfinished(lake, [found])
    taken = {name: options[name] for name in chosen.options if name in options}
    return chosen.load()(lake, found.run_id, out or Path("reports") / found.run_id, **taken)


def write_all(out: Path | None = None, data: str | Path | None = None, language: str = LANGUAGES[0]) -> Site:
    """A site over all runs, in `reports/all` by default. Raises UserError where no warehouse has been built."""
    pages = {kind.name: _pages(kind) for kind in all_kinds()}
    return write_lake_pages(existing_lake(data), out or Path("reports") / "all", pages, language)
