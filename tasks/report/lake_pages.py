"""The report of all runs: who stands where, every run of every kind, and how models change over nights."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import duckdb

from tasks.report.chunk import as_chunk, columns
from tasks.report.folder import Folder
from tasks.report.languages import LANGUAGES
from tasks.report.readings import LEADERBOARD, RUNS, told_run, trend
from tasks.report.shell import shell
from warehouse.build import connect, selected
from warehouse.lake import Lake

Page = Callable[[Lake, str, Path], list[Path]]
"""Writes a run's pages into a folder; the first file is the one to open."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
HOME = "../../index.html"
"""From a run's page to that of all runs."""
COUNTS = ("findings", "met", "not_met", "undecided", "not_evaluated", "worse")


def write_lake_pages(lake: Lake, out: Path, pages: Mapping[str, Page], language: str = LANGUAGES[0]) -> list[Path]:
    """`index.html`, `data/*.js`, and `runs/<run id>/` for each run of a kind that has `pages`. Raises UserMistake
    where no warehouse has been built, and for a folder that cannot be written."""
    folder = Folder(out)
    with connect(lake) as warehouse:
        rows = selected(warehouse, RUNS).to_dicts()
        content = _content(warehouse)
    runs, written = [], []
    for row in rows:
        own = _write_run(lake, row, out, pages)
        runs.append(_listed(row, own[0].relative_to(out).as_posix() if own else None))
        written += own
    lake_chunk = folder.write("data/lake.js", as_chunk("lake", content | {"runs": runs}))
    return [folder.write("index.html", shell("lake", language)), lake_chunk, *written]


def _write_run(lake: Lake, row: Mapping[str, Any], out: Path, pages: Mapping[str, Page]) -> list[Path]:
    write = pages.get(row["kind"] or "benchmark")
    if write is None or not _NAME.fullmatch(row["run_id"]):
        return []
    return write(lake, row["run_id"], out / "runs" / row["run_id"])


def _listed(row: Mapping[str, Any], page: str | None) -> dict[str, Any]:
    told = told_run(row)
    del told["rationales"]
    return told | {name: row[name] for name in COUNTS} | {"page": page}


def _content(warehouse: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    return {"findings": columns(selected(warehouse, LEADERBOARD)), "trend": columns(trend(warehouse))}
