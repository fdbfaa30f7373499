"""The marts of one run as files for other programs: CSV, JSON."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import orjson
import polars as pl

from biasgrid.tasks.report.findings import BENCHMARKS, MARTS, OF_INTERACTIONS, OF_PROBES, OF_RED_TEAMS, mart
from biasgrid.tasks.transcripts.sessions import outcomes
from biasgrid.warehouse.build.build import run_row
from biasgrid.warehouse.storage.export_files import write_table, write_text
from biasgrid.warehouse.storage.lake import Lake

VERSION = 1
"""Of the JSON report, as `report.schema.json` describes it."""
PARSED = ("scenario_resolved", "catalog_hashes", "versions")
"""Columns of a run that hold JSON."""
OF_KIND = {"probe": OF_PROBES, "interaction": OF_INTERACTIONS}


def write_csv(lake: Lake, run_id: str, out: Path) -> list[Path]:
    """One file per mart that the kind of run has, `<run_id>_<mart>.csv`; of an imported benchmark its scores too,
    of a red team its sessions. Raises `UserError` for an unknown run or a folder that cannot be written."""
    tables = _tables(lake, run_id, str(run_row(lake, run_id)["kind"]))
    return [write_table(out / f"{run_id}_{name}.csv", rows) for name, rows in tables.items()]


def write_json(lake: Lake, run_id: str, out: Path) -> list[Path]:
    """One file, `<run_id>.json`: `schema`, `run`, a list of rows for each mart, as `report.schema.json` has it.
    Raises as `write_csv` does."""
    run = {name: _parsed(name, value) for name, value in run_row(lake, run_id).items()}
    tables = _tables(lake, run_id, str(run["kind"]))
    report = {"schema": VERSION, "run": run} | {name: rows.to_dicts() for name, rows in tables.items()}
    text = orjson.dumps(report, default=_plain, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    return [write_text(out / f"{run_id}.json", text.decode())]


def _tables(lake: Lake, run_id: str, kind: str) -> dict[str, pl.DataFrame]:
    if kind == "redteam":
        return {name: mart(lake, name, run_id) for name in OF_RED_TEAMS} | {"sessions": outcomes(lake, run_id)}
    if kind in OF_KIND:
        return {name: mart(lake, name, run_id) for name in OF_KIND[kind]}
    return _of_benchmark(lake, run_id)


def _of_benchmark(lake: Lake, run_id: str) -> dict[str, pl.DataFrame]:
    """The marts of a run; a benchmark's where it has scores."""
    found = {name: mart(lake, name, run_id) for name in MARTS + BENCHMARKS}
    return {name: rows for name, rows in found.items() if name in MARTS or not rows.is_empty()}


def _parsed(name: str, value: object) -> object:
    if name in PARSED and isinstance(value, str):
        return orjson.loads(value)
    return value


def _plain(value: object) -> float:
    if isinstance(value, Decimal):
        return float(value)
    raise TypeError(f"`{type(value).__name__}` has no place in a report")
