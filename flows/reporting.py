"""A run's reports by format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from flows.check_reports import write_junit, write_model_cards, write_pictures, write_step_summary
from flows.preparation import existing_lake
from tasks.report.checks import Gate
from tasks.report.evidence.write import write_evidence
from tasks.report.interaction_report import write_interaction_pages
from tasks.report.lake_pages import PagesOf, Site, write_lake_pages
from tasks.report.langbite import write_langbite
from tasks.report.languages import LANGUAGES
from tasks.report.probe_report import write_probe_page
from tasks.report.record import renew
from tasks.report.red_team_report import write_red_team_page
from tasks.report.reports import write_csv, write_json
from tasks.report.run_pages import write_run_pages
from warehouse.lake import Lake
from warehouse.runs import find, refuse_other_kinds
from warehouse.schemas import KINDS

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
    Raises UserMistake for an unknown run, for one of a kind that has no such report, or where no warehouse has
    been built."""
    lake = existing_lake(data)
    found = find(lake, run)
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
    """A site over all runs, in `reports/all` by default. Raises UserMistake where no warehouse has been built."""
    return write_lake_pages(existing_lake(data), out or Path("reports") / "all", PAGES, language)
