"""A run's reports by format, and the check of an evidence bundle."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import typer

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.flows.runs.prepare import existing_lake
from biasgrid.flows.terminal.console import readable
from biasgrid.tasks.report.checks import Gate, checks
from biasgrid.tasks.report.evidence.manifest import Newer
from biasgrid.tasks.report.evidence.verify import Flaw, Verified, verify
from biasgrid.tasks.report.evidence.write import write_evidence
from biasgrid.tasks.report.figures import format_count
from biasgrid.tasks.report.formats.data_files import write_csv, write_json
from biasgrid.tasks.report.formats.langbite import write_langbite
from biasgrid.tasks.report.html.interaction_pages import write_interaction_pages
from biasgrid.tasks.report.html.page_cache import renew
from biasgrid.tasks.report.html.probe_pages import write_probe_page
from biasgrid.tasks.report.html.redteam_pages import write_red_team_page
from biasgrid.tasks.report.html.run_pages import write_run_pages
from biasgrid.tasks.report.html.site_pages import PagesOf, Site, write_lake_pages
from biasgrid.tasks.report.languages import LANGUAGES
from biasgrid.warehouse.schemas import KINDS
from biasgrid.warehouse.storage.export_files import write_bytes, write_text
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import find_run, refuse_other_kinds

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


def write_junit(lake: Lake, run_id: str, out: Path, gate: Gate = "point") -> list[Path]:
    """`junit.xml`."""
    from biasgrid.tasks.report.formats.junit import junit

    run = find_run(lake, run_id)
    return _landed(out, {"junit.xml": junit(run, checks(lake, run), gate)})


def write_step_summary(lake: Lake, run_id: str, out: Path, gate: Gate = "point") -> list[Path]:
    """`summary.md`."""
    from biasgrid.tasks.report.formats.step_summary import step_summary

    run = find_run(lake, run_id)
    return _landed(out, {"summary.md": step_summary(run, checks(lake, run), gate)})


def write_model_cards(lake: Lake, run_id: str, out: Path) -> list[Path]:
    """One file per model of which anything could be measured."""
    from biasgrid.tasks.report.formats.model_card import model_cards

    run = find_run(lake, run_id)
    return _landed(out, model_cards(run, checks(lake, run)))


def write_pictures(lake: Lake, run_id: str, out: Path) -> list[Path]:
    """SVG and PNG of each picture, and `pictures.md`, which says in words what they show."""
    from biasgrid.tasks.report.charts.pictures import files, pictures

    run = find_run(lake, run_id)
    return _landed(out, files(run, pictures(lake, run, checks(lake, run))))


def _landed(out: Path, pages: Mapping[str, str | bytes]) -> list[Path]:
    return [
        write_bytes(out / name, page) if isinstance(page, bytes) else write_text(out / name, page)
        for name, page in pages.items()
    ]


Writer = Callable[[Lake, str, Path], list[Path]]


PAGES: Mapping[str, PagesOf] = {
    "benchmark": PagesOf(write_run_pages, "index.html"),
    "probe": PagesOf(write_probe_page, "report.html"),
    "redteam": PagesOf(write_red_team_page, "report.html"),
    "interaction": PagesOf(write_interaction_pages, "report.html"),
}
ALONE = {kind: pages.write for kind, pages in PAGES.items()} | {"benchmark": partial(write_run_pages, alone=True)}
"""The same, without what other runs have a part in."""


def _evidence(kind: str, language: str = LANGUAGES[0]) -> Writer:
    """With the pages of that kind of run, where it has any."""
    pages = partial(ALONE[kind], language=language) if kind in ALONE else None
    return partial(write_evidence, pages=pages, language=language)


GATED = {"junit": write_junit, "markdown": write_step_summary}
"""Formats in which a gate says what counts as failed."""
WRITERS: Mapping[str, Mapping[str, Writer]] = {
    "csv": dict.fromkeys(KINDS, write_csv),
    "json": dict.fromkeys(KINDS, write_json),
    "langbite": {"benchmark": write_langbite},
    "html": {kind: pages.write for kind, pages in PAGES.items()},
    "evidence": {kind: _evidence(kind) for kind in KINDS},
    "pictures": dict.fromkeys(KINDS, write_pictures),
    "model-card": dict.fromkeys(KINDS, write_model_cards),
    **{name: dict.fromkeys(KINDS, write) for name, write in GATED.items()},
}
"""By format and kind of run."""
NAMES = {"langbite": "report in LangBiTe's format", "html": "report in HTML yet"}


def write_report(
    run: str | None,
    kind: str,
    out: Path | None = None,
    data: str | Path | None = None,
    language: str = LANGUAGES[0],
    gate: Gate = "point",
) -> list[Path]:
    """The files written, into `reports/<run id>` by default: LangBiTe's file names do not tell runs apart.
    Pages and evidence are in `language`; `gate` says what counts as failed in the formats that are GATED.
    Raises UserError for an unknown run, for one of a kind that has no such report, or where no warehouse has
    been built."""
    lake = existing_lake(data)
    found = find_run(lake, run)
    refuse_other_kinds(found, NAMES.get(kind, "report"), *WRITERS[kind])
    folder = out or Path("reports") / found.run_id
    if kind in GATED:
        return GATED[kind](lake, found.run_id, folder, gate)
    if kind == "html":
        return renew(folder, partial(PAGES[found.kind].write, lake, found.run_id, language=language))
    if kind == "evidence":
        return _evidence(found.kind, language)(lake, found.run_id, folder)
    return WRITERS[kind][found.kind](lake, found.run_id, folder)


def write_all(out: Path | None = None, data: str | Path | None = None, language: str = LANGUAGES[0]) -> Site:
    """A site over all runs, in `reports/all` by default. Raises UserError where no warehouse has been built."""
    return write_lake_pages(existing_lake(data), out or Path("reports") / "all", PAGES, language)
