"""The report of one benchmark run: a folder with one page, and what it loads when its reader asks for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from biasgrid.tasks.report.html.mart_tables import (
    AGREEMENT,
    CELLS,
    CONTRASTS,
    COSTS,
    ERRORS,
    FINDINGS,
    LANGUAGES,
    REFUSALS,
    Row,
    as_chunk,
    columns,
    head,
    not_planned,
    of_run,
    trend,
)
from biasgrid.tasks.report.html.page import Ways, shell
from biasgrid.tasks.report.html.page_cache import Folder
from biasgrid.tasks.report.html.replies import chunks
from biasgrid.tasks.report.languages import LANGUAGES as SPOKEN
from biasgrid.warehouse.build.build import connect, find_run_row
from biasgrid.warehouse.storage.lake import Lake


def write_run_pages(
    lake: Lake,
    run_id: str,
    out: Path,
    language: str = SPOKEN[0],
    ways: Ways | None = None,
    *,
    alone: bool = False,
) -> list[Path]:
    """Writes `index.html`, returned first, and `data/*.js`; `alone` leaves out what depends on earlier runs."""
    folder = Folder(out)
    with connect(lake, texts_of=run_id) as warehouse:
        row = find_run_row(warehouse, lake, run_id)
        cells = of_run(warehouse, CELLS, run_id)
        listed, written = _write_tests(folder, warehouse, run_id, cells)
        written += [
            _write(folder, "communities", _communities(warehouse, run_id)),
            _write(folder, "agreement", {"agreement": columns(of_run(warehouse, AGREEMENT, run_id))}),
            _write(
                folder, "run", _run(warehouse, row, cells) | {"chunks": listed, "alone": alone} | _navigation(ways)
            ),
        ]
        if not alone:
            written.append(_write(folder, "trend", {"trend": columns(trend(warehouse, run_id))}))
    return [folder.write("index.html", shell("run", language)), *written]


def _navigation(ways: Ways | None) -> dict[str, Any]:
    return {"ways": ways and ways.as_json()}


def _write(folder: Folder, name: str, content: dict[str, Any]) -> Path:
    return folder.write(f"data/{name}.js", as_chunk(name, content))


def _run(warehouse: duckdb.DuckDBPyConnection, row: Row, cells: pl.DataFrame) -> dict[str, Any]:
    """What the first view needs, and the small tables."""
    selects = {"findings": FINDINGS, "languages": LANGUAGES, "costs": COSTS, "errors": ERRORS}
    tables = {name: columns(of_run(warehouse, select, row["run_id"])) for name, select in selects.items()}
    return {
        "run": head(row),
        "cells": columns(cells.drop("cell_id")),
        "not_planned": not_planned(row, cells),
        **tables,
    }


def _communities(warehouse: duckdb.DuckDBPyConnection, run_id: str) -> dict[str, Any]:
    selects = {"contrasts": CONTRASTS, "refusals": REFUSALS}
    return {name: columns(of_run(warehouse, select, run_id)) for name, select in selects.items()}


def _write_tests(
    folder: Folder, warehouse: duckdb.DuckDBPyConnection, run_id: str, cells: pl.DataFrame
) -> tuple[list[dict[str, Any]], list[Path]]:
    """What the page has to know of each chunk of tests before it loads it, and the files."""
    listed, written, bitmaps = [], [], []
    for number, chunk in enumerate(chunks(warehouse, run_id, cells)):
        written.append(_write(folder, f"tests-{number}", dict(chunk.content)))
        listed.append({"cells": chunk.cells, "replies": chunk.replies})
        bitmaps.append(chunk.trigrams)
    written.append(_write(folder, "search", {"bitmaps": bitmaps}))
    return listed, written
