"""The report of all runs: who stands where, every run of every kind, and how models change over nights."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import duckdb

from tasks.report.chunk import as_chunk, columns
from tasks.report.folder import Folder
from tasks.report.inputs import contents, digest
from tasks.report.languages import LANGUAGES
from tasks.report.readings import LEADERBOARD, RUNS, head, trend
from tasks.report.record import holds, renew, take_away
from tasks.report.shell import shell
from tasks.report.ways import Neighbour, Ways, ways_between
from warehouse.build import connect, selected
from warehouse.lake import Lake
from warehouse.texts import ALL, reading_texts

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
COUNTS = ("findings", "met", "not_met", "undecided", "not_evaluated", "worse")
Row = Mapping[str, Any]


class Write(Protocol):
    """Writes a run's pages into a folder."""

    def __call__(
        self, lake: Lake, run_id: str, out: Path, language: str = ..., ways: Ways | None = ...
    ) -> list[Path]: ...


@dataclass(frozen=True, slots=True)
class PagesOf:
    """Pages of a kind of run: what writes them, and the file to open first."""

    write: Write
    first: str


@dataclass(frozen=True, slots=True)
class Site:
    """What has been written: the page to open, and of how many runs the pages are new or were kept."""

    index: Path
    written: int
    kept: int


def write_lake_pages(lake: Lake, out: Path, pages: Mapping[str, PagesOf], language: str = LANGUAGES[0]) -> Site:
    """`index.html`, `data/*.js`, and `runs/<run id>/` for each run of a kind that has `pages`, unless those that
    lie there still hold; those of runs that are gone go. Raises UserMistake where no warehouse has been built,
    and for a folder that cannot be written."""
    with connect(lake, texts_of=ALL) as warehouse, reading_texts():
        rows = selected(warehouse, RUNS).to_dicts()
        content, made_of = _content(warehouse), contents(warehouse)
    shown = {row["run_id"]: of for row in rows if (of := _pages_of(row, pages))}
    runs = [_listed(row, shown.get(row["run_id"])) for row in rows]
    kept = []
    for run_id, ways in _ways(runs):
        write = partial(shown[run_id].write, lake, run_id, language=language, ways=ways)
        made = digest(made_of[run_id], language=language, ways=ways.as_told())
        kept.append(_kept(out / "runs" / run_id, write, made))
    _take_others_away(out / "runs", shown.keys())
    folder = Folder(out)
    folder.write("data/lake.js", as_chunk("lake", content | {"runs": runs}))
    return Site(folder.write("index.html", shell("lake", language)), kept.count(False), kept.count(True))


def _kept(root: Path, write: Callable[[Path], list[Path]], made: str) -> bool:
    """Whether the pages that lie there hold; they are written anew where they do not."""
    held = holds(root, made)
    if not held:
        renew(root, write, made)
    return held


def _pages_of(row: Row, pages: Mapping[str, PagesOf]) -> PagesOf | None:
    return pages.get(row["kind"] or "benchmark") if _NAME.fullmatch(row["run_id"]) else None


def _listed(row: Row, pages: PagesOf | None) -> dict[str, Any]:
    told = head(row)
    del told["rationales"]
    page = pages and f"runs/{row['run_id']}/{pages.first}"
    return told | {name: row[name] for name in COUNTS} | {"page": page}


def _ways(runs: Sequence[Row]) -> Iterator[tuple[str, Ways]]:
    """Of each run that has a page."""
    own = [run for run in runs if run["page"]]
    found = [Neighbour(run["page"].replace("runs/", "../", 1), run["name"], run["started_at"]) for run in own]
    return zip((run["run_id"] for run in own), ways_between(found), strict=True)


def _take_others_away(folder: Path, run_ids: Iterable[str]) -> None:
    listed = set(run_ids)
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.name not in listed:
            take_away(path)


def _content(warehouse: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    return {"findings": columns(selected(warehouse, LEADERBOARD)), "trend": columns(trend(warehouse))}
