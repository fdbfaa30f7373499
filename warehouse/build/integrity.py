"""A lake that holds what cannot be: told apart from a run that is under way, and by file and id."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from biasgrid.catalogs.errors import Problem
from biasgrid.warehouse.build.integrity_rules import (
    EVERY_CASE_IS_THERE,
    FLAWS,
    FLAWS_OF_CASES,
    FLAWS_OF_OTHERS,
    FLAWS_OF_REPEATS,
    Flaw,
    Row,
    found_flaws,
)
from biasgrid.warehouse.build.materialize import look_closer, settle
from biasgrid.warehouse.schemas import TABLES, UNITS
from biasgrid.warehouse.storage.errors import LakeDamaged
from biasgrid.warehouse.storage.lake import Lake

SHOWN = 3
"""Rows that are named of each flaw; the others are counted."""

Runs = Mapping[str, str]
"""Ids in the lake of the runs that are attached under other ones."""


def refuse_damage(warehouse: duckdb.DuckDBPyConnection, lake: Lake, runs: Runs) -> None:
    """Looks through the attached lake. Raises `LakeDamaged` with everything that it finds."""
    settle(warehouse)
    if any(found_flaws(warehouse, FLAWS)):
        look_closer(warehouse, UNITS)
        refuse_flaws(warehouse, lake, FLAWS_OF_REPEATS + FLAWS_OF_CASES + FLAWS, runs)
    refuse_flaws(warehouse, lake, FLAWS_OF_OTHERS, runs)


def refuse_damage_within(
    warehouse: duckdb.DuckDBPyConnection, lake: Lake, runs: Runs, built: Collection[str]
) -> None:
    """As `refuse_damage`, once `built` are there: what they tell of the lake need not be looked for in it."""
    refuse_flaws(warehouse, lake, FLAWS_OF_REPEATS, runs)
    tells = {"intermediate.int_instance_outcomes", "staging.stg_verdicts", "staging.stg_criteria"} <= set(built)
    if not (tells and warehouse.execute(EVERY_CASE_IS_THERE).fetchall()[0][0]):
        refuse_flaws(warehouse, lake, FLAWS_OF_CASES, runs)


def refuse_flaws(warehouse: duckdb.DuckDBPyConnection, lake: Lake, flaws: Iterable[Flaw], runs: Runs) -> None:
    """As `refuse_damage`, for some flaws."""
    found = (
        (flaw, [row | {"run_id": runs.get(row["run_id"], row["run_id"])} for row in rows])
        for flaw, rows in found_flaws(warehouse, flaws)
    )
    mistakes = [_told(lake, flaw, rows) for flaw, rows in found]
    if mistakes:
        raise LakeDamaged(mistakes)


def refuse_unreadable(lake: Lake, cause: duckdb.Error) -> None:
    """Raises `LakeDamaged` where files are why DuckDB could not go on: truncated ones, or, where each has its
    end, such as cannot be read as a whole."""
    files = [(table, path) for table in TABLES for path in lake.files(table)]
    for read in (pq.read_metadata, pq.read_table):
        mistakes = [told for table, path in files if (told := _unreadable(lake, table, path, read))]
        if mistakes:
            raise LakeDamaged(mistakes) from cause


def _unreadable(lake: Lake, table: str, path: Path, read: Callable[[Path], object]) -> Problem | None:
    try:
        read(path)
    except (pa.ArrowException, OSError) as error:
        run_id = path.parent.name.removeprefix("run_id=")
        why = str(error).splitlines()[0]
        where = str(lake.told(path))
        return Problem(f"a file of `{table}` is no whole Parquet file: {why}", where, _remedy(lake, run_id))
    return None


def _told(lake: Lake, flaw: Flaw, rows: Sequence[Row]) -> Problem:
    ids = ", ".join(f"`{row[flaw.id]}`" for row in rows[:SHOWN])
    more = f" and {len(rows) - SHOWN} more" if len(rows) > SHOWN else ""
    runs = list(dict.fromkeys(str(row["run_id"]) for row in rows))
    places = _files(lake, flaw, rows) or [lake.folder(flaw.table, run_id) for run_id in runs[:SHOWN]]
    return Problem(
        what=f"`{flaw.table}` of run {_listed(runs)}: {flaw.what}: {flaw.id} {ids}{more}",
        where=", ".join(str(lake.told(place)) for place in places[:SHOWN]),
        remedy=_remedy(lake, runs[0]),
    )


def _files(lake: Lake, flaw: Flaw, rows: Sequence[Row]) -> list[Path]:
    """The files in which the rows stand; none where it is their absence that is told."""
    if flaw.lacking_to:
        return []
    runs = {str(row["run_id"]) for row in rows}
    files = [path for run_id in sorted(runs) for path in lake.files(flaw.table, run_id)]
    named = pl.col(flaw.id).is_in([row[flaw.id] for row in rows])
    scanned = pl.scan_parquet(
        files,
        glob=False,
        hive_partitioning=False,
        include_file_paths="file",
        missing_columns="insert",
        extra_columns="ignore",
    )
    return [Path(file) for file in scanned.filter(named).select("file").unique().collect()["file"].sort()]


def _remedy(lake: Lake, run_id: str) -> str:
    folders = lake.told(lake.root / "lake" / "*" / f"run_id={run_id}")
    away = f"take the run out of the lake (move `{folders}` elsewhere)"
    return f"put back what belongs there, or {away}, then `biasgrid warehouse build`"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
