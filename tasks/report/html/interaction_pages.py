"""An interaction's report: a page of findings, and pages of all its plays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any

from biasgrid.tasks.report.findings import MITIGATIONS, SETTINGS, InteractionFindings, RunFacts, rows_of, run_facts
from biasgrid.tasks.report.html.first_view import answer_values
from biasgrid.tasks.report.html.page import Ways, write_page
from biasgrid.tasks.report.languages import LANGUAGES
from biasgrid.tasks.transcripts.plays import LOST, Play, plays
from biasgrid.warehouse.build.build import connect, fetch_rows, run_row
from biasgrid.warehouse.storage.lake import Lake

Row = Mapping[str, Any]
Part = tuple[str, str, str, list[Row], list[tuple[str, list[Row]]]]
"""Model, language, axis, rows over all domains, rows of each domain."""
ON_A_PAGE = 60
"""Plays of a page: a browser opens it at once."""
AT_ONCE = 20
"""Pages whose plays are held in memory together."""
CELL = ("model", "language", "setting", "mitigation")
"""What the plays of a page have in common."""
WHO = ("model", "language", "axis")
OUTCOMES = ("stereotypical", "anti-stereotypical", "neutral", "tie", "lost", "passed", "failed")
"""By which the plays of a page can be chosen."""


@dataclass(frozen=True, slots=True)
class PlaysPage:
    """A file of plays, and those before and after it of the same cell."""

    file: str
    cell: tuple[str, ...]
    number: int
    """Which of its cell's pages, from 1."""
    play_ids: Sequence[str]


@dataclass(frozen=True, slots=True)
class InteractionReport:
    run: RunFacts
    found: InteractionFindings
    pages: Sequence[PlaysPage]

    def scores(self) -> Iterator[Part]:
        """Of each model, language and axis: rows over all domains, controls last, and each domain's."""
        for (model, language, axis), own in _by(self.found.bias_scores, *WHO):
            yield model, language, axis, *_overall_and_by_domain(own)

    def changes(self) -> Iterator[Part]:
        """What talking and reflecting changed, in the same parts."""
        for (model, language, axis), own in _by(self.found.escalation, *WHO):
            yield model, language, axis, *_overall_and_by_domain(own)

    def cells(self) -> Iterator[tuple[tuple[str, ...], list[PlaysPage]]]:
        for cell, own in groupby(self.pages, key=lambda page: page.cell):
            yield cell, [*own]

    def first_page(self, row: Row) -> str | None:
        """The file in which the plays begin that a row is about."""
        cell = tuple(row[name] for name in CELL)
        return next((page.file for page in self.pages if page.cell == cell), None)


def write_interaction_pages(
    lake: Lake, run_id: str, out: Path, language: str = LANGUAGES[0], ways: Ways | None = None
) -> list[Path]:
    """Writes `report.html` and, next to it, pages of plays. Raises UserError for an unknown run."""
    report = interaction_report(lake, run_id)
    given = {"report": report, "run": report.run, "lost": LOST, **answer_values(lake, run_id, language)}
    first = write_page(out / "report.html", "interaction.html.j2", language, ways=ways, **given)
    return [first, *_write_plays(lake, report, out, language, ways)]


def _write_plays(
    lake: Lake, report: InteractionReport, out: Path, language: str, ways: Ways | None
) -> Iterator[Path]:
    pages = iter(report.pages)
    while some := [*islice(pages, AT_ONCE)]:
        shown = iter(plays(lake, report.run.run_id, [play_id for page in some for play_id in page.play_ids]))
        for page in some:
            given = _page_values(report, page, [*islice(shown, len(page.play_ids))])
            yield write_page(out / page.file, "plays.html.j2", language, ways=ways, **given)


def _page_values(report: InteractionReport, page: PlaysPage, shown: Sequence[Play]) -> dict[str, Any]:
    siblings = [other for other in report.pages if other.cell == page.cell]
    return {"run": report.run, "page": page, "siblings": siblings, "plays": shown, **_choices(shown)}


def interaction_report(lake: Lake, run_id: str) -> InteractionReport:
    """Content of the first page; raises UserError if the warehouse does not hold the run."""
    run = run_facts(run_row(lake, run_id))
    with connect(lake) as warehouse:
        found = InteractionFindings(**rows_of(warehouse, run_id))
        played = fetch_rows(warehouse, PLAYED, [run_id])
    return InteractionReport(run, found, [*_pages(played.iter_rows(named=True))])


def _pages(played: Iterable[Row]) -> Iterator[PlaysPage]:
    number = 0
    for cell, own in groupby(played, key=itemgetter(*CELL)):
        parts = iter(row["play_id"] for row in own)
        for of_cell, part in enumerate(iter(lambda: [*islice(parts, ON_A_PAGE)], []), 1):  # noqa: B023 - used at once
            number += 1
            yield PlaysPage(f"plays-{number:03}.html", cell, of_cell, part)


def _choices(shown: Sequence[Play]) -> dict[str, list[str]]:
    """What the plays of a page can be chosen by: outcomes and domains that they have."""
    found = set().union(*(play.outcomes for play in shown))
    return {
        "outcomes": [outcome for outcome in OUTCOMES if outcome in found],
        "domains": list(dict.fromkeys(play.case["domain"] for play in shown)),
    }


def _overall_and_by_domain(rows: Iterable[Row]) -> tuple[list[Row], list[tuple[str, list[Row]]]]:
    own = [*rows]
    domains = [row for row in own if row["domain"] != "all"]
    by_domain = [(str(key[0]), [*shown]) for key, shown in _by(domains, "domain")]
    return [row for row in own if row["domain"] == "all"], by_domain


def _by(rows: Iterable[Row], *names: str) -> Iterator[tuple[tuple[Any, ...], Iterator[Row]]]:
    return groupby(rows, key=lambda row: tuple(row[name] for name in names))


PLAYED = f"""
    select play_id, model, language, setting, mitigation
    from intermediate.int_interaction_plays
    where run_id = ?
    order by model, language, {SETTINGS} nulls last, {MITIGATIONS}, domain, scene, number, play_id
"""  # noqa: S608 - words of ours
