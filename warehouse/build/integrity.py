"""Checks the lake by the rules of `integrity.yml` and reports violations by file and id."""

# ruff: noqa: S608 - names from our own schemas and YAML

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from biasgrid.catalogs.errors import Problem
from biasgrid.catalogs.schema.base import Frozen
from biasgrid.warehouse.build.attach_lake import empty_relations
from biasgrid.warehouse.build.materialize import find_repeats
from biasgrid.warehouse.build.models import read_yaml
from biasgrid.warehouse.schemas import KINDS, OF_KINDS, OTHER_KINDS, OUTCOMES, TABLES, UNITS
from biasgrid.warehouse.storage.errors import LakeDamaged
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.pack_file import read_rows, remedy

Row = dict[str, Any]
EVERYWHERE = "select true"
COUNTED = 1000
"""Maximum number of rows that are counted per flaw."""
SHOWN = 3
"""Number of example rows per flaw."""

Runs = Mapping[str, str]
"""Attached run id to the run's id in the lake, if they differ."""


class Flaw(Frozen):
    """A rule that `rows` violate; each row has its `run_id` and an identifying column `id`."""

    table: str
    id: str
    what: str
    rows: str
    doubted: str = EVERYWHERE
    """Selects the cells to check, stored in `lake.doubted`; if it selects none, `rows` is not queried."""
    lacking_to: str = ""
    """The relation whose rows lack something, if the flaw is that rows are missing."""
    kind: str = KINDS[0]

    @property
    def rows_of(self) -> str:
        """The relation that `rows` are derived from: if it is empty, there are no flaws."""
        return _of_kind(self.kind, self.lacking_to or f"lake.{self.table}")


class Integrity(Frozen):
    """Contents of `warehouse/models/integrity.yml`."""

    benchmarks: tuple[Flaw, ...]
    every_other_kind: tuple[Flaw, ...]
    judged_kinds: tuple[Flaw, ...]
    cases: tuple[Flaw, ...]
    behind_failed_tests: tuple[Flaw, ...]
    unsettled: str
    every_case_is_there: str


@cache
def load_integrity() -> Integrity:
    """The shipped rules."""
    read = read_yaml(files("biasgrid.warehouse") / "models" / "integrity.yml")
    given = OUTCOMES[:-1]
    words = {"{outcomes}": str(OUTCOMES), "{given_outcomes}": str(given)}
    words |= {"{all_named}": ", ".join(OUTCOMES), "{given_named}": ", ".join(given)}
    return Integrity.model_validate(_fill_in(read, words))


def _fill_in(read: Any, words: Mapping[str, str]) -> Any:
    """YAML contents with placeholders replaced."""
    if isinstance(read, dict):
        return {name: _fill_in(value, words) for name, value in read.items()}
    if isinstance(read, list):
        return [_fill_in(value, words) for value in read]
    for name, text in words.items():
        read = read.replace(name, text)
    return read


@cache
def flaws_of_kind(kind: str) -> tuple[Flaw, ...]:
    """Flaws of a kind of run other than benchmarks."""
    rules = load_integrity()
    own = (*rules.every_other_kind, *(rules.judged_kinds if OTHER_KINDS[kind].judges_all_cells else ()))
    return tuple(
        flaw.model_copy(
            update={"rows": _of_kind(kind, flaw.rows), "doubted": _of_kind(kind, flaw.doubted), "kind": kind}
        )
        for flaw in own
    )


def _of_kind(kind: str, sql: str) -> str:
    if kind == KINDS[0]:
        return sql
    return re.sub(rf"\blake\.({'|'.join(OF_KINDS)})\b", rf"lake.{kind}_\1", sql)


@cache
def flaws_of_repeats() -> tuple[Flaw, ...]:
    """Flaws of the rows in `lake.repeated_<table>`: one id with different contents."""
    return (
        _find_differing("cases", "case_id"),
        _find_differing("responses", "response_id"),
        _find_differing("verdicts", "verdict_id", without="judged_at"),
    )


def _find_differing(table: str, key: str, without: str = "") -> Flaw:
    content = ", ".join(name for name in TABLES[table].names if name != without)
    unit = ", ".join(UNITS[table])
    hashed = f"select run_id, {key}, hash({content}) as content, hash({unit}) as unit from lake.{table}"
    repeated = f"from ({hashed}) semi join lake.doubted using (unit)"
    rows = f"select run_id, {key} {repeated} group by run_id, {key} having count(distinct content) > 1"
    return Flaw(
        table=table, id=key, what="rows of one id differ", rows=rows, doubted=f"from lake.repeated_{table}"
    )


def find_flaws(warehouse: duckdb.DuckDBPyConnection, flaws: Iterable[Flaw]) -> Iterator[tuple[Flaw, list[Row]]]:
    """The flaws that the attached lake has, each with example rows."""
    nothing = empty_relations(warehouse)
    for flaw in flaws:
        if flaw.rows_of not in nothing and _is_doubted(warehouse, flaw) and (rows := _rows(warehouse, flaw)):
            yield flaw, rows


def _is_doubted(warehouse: duckdb.DuckDBPyConnection, flaw: Flaw) -> bool:
    if flaw.doubted == EVERYWHERE:
        return True
    (cells,) = warehouse.execute(f"create or replace table lake.doubted as {flaw.doubted}").fetchall()[0]
    return bool(cells)


def _rows(warehouse: duckdb.DuckDBPyConnection, flaw: Flaw) -> list[Row]:
    found = warehouse.sql(f"from ({flaw.rows}) order by all limit {COUNTED}")
    rows: list[Row] = found.to_arrow_table().to_pylist()
    return rows


def find_unsettled(warehouse: duckdb.DuckDBPyConnection) -> None:
    """Finds the unsettled cells of benchmarks: in all others each reply is known to occur once."""
    warehouse.execute(f"create table lake.found_unsettled as {load_integrity().unsettled}")
    warehouse.execute("create or replace view lake.unsettled as from lake.found_unsettled")


def refuse_damage(warehouse: duckdb.DuckDBPyConnection, lake: Lake, runs: Runs) -> None:
    """Checks the attached lake. Raises `LakeDamaged` with all flaws found."""
    find_unsettled(warehouse)
    rules = load_integrity()
    if any(find_flaws(warehouse, rules.benchmarks)):
        find_repeats(warehouse, UNITS)
        refuse_flaws(warehouse, lake, (*flaws_of_repeats(), *rules.cases, *rules.benchmarks), runs)
    refuse_flaws(warehouse, lake, (flaw for kind in OTHER_KINDS for flaw in flaws_of_kind(kind)), runs)


def refuse_damage_within(
    warehouse: duckdb.DuckDBPyConnection, lake: Lake, runs: Runs, built: Collection[str]
) -> None:
    """Like `refuse_damage`, after `built` models: flaws that these already exclude are skipped."""
    refuse_flaws(warehouse, lake, flaws_of_repeats(), runs)
    shows = {"intermediate.int_instance_outcomes", "staging.stg_verdicts", "staging.stg_criteria"} <= set(built)
    if not (shows and warehouse.execute(load_integrity().every_case_is_there).fetchall()[0][0]):
        refuse_flaws(warehouse, lake, load_integrity().cases, runs)


def refuse_flaws(warehouse: duckdb.DuckDBPyConnection, lake: Lake, flaws: Iterable[Flaw], runs: Runs) -> None:
    """Like `refuse_damage`, for the given flaws."""
    found = (
        (flaw, [row | {"run_id": runs.get(row["run_id"], row["run_id"])} for row in rows])
        for flaw, rows in find_flaws(warehouse, flaws)
    )
    mistakes = [_problem(lake, flaw, rows) for flaw, rows in found]
    if mistakes:
        raise LakeDamaged(mistakes)


def refuse_flaws_behind(warehouse: duckdb.DuckDBPyConnection, lake: Lake, runs: Runs) -> None:
    """Like `refuse_damage`, for flaws that make a model's own tests fail."""
    rules = load_integrity()
    refuse_flaws(warehouse, lake, (*flaws_of_repeats(), *rules.cases, *rules.behind_failed_tests), runs)


def refuse_unreadable(lake: Lake, cause: duckdb.Error) -> None:
    """Raises `LakeDamaged` if files caused the DuckDB error, since they cannot be read completely."""
    mistakes = [mistake for table in TABLES for path in lake.files(table) for mistake in _unread(path)]
    if mistakes:
        raise LakeDamaged(mistakes) from cause


def _unread(path: Path) -> Sequence[Problem]:
    try:
        for _ in read_rows(path):
            pass
    except LakeDamaged as damage:
        return damage.mistakes
    return ()


def _problem(lake: Lake, flaw: Flaw, rows: Sequence[Row]) -> Problem:
    ids = ", ".join(f"`{row[flaw.id]}`" for row in rows[:SHOWN])
    more = f" and {len(rows) - SHOWN} more" if len(rows) > SHOWN else ""
    runs = list(dict.fromkeys(str(row["run_id"]) for row in rows))
    places = _files(lake, flaw, rows) or [lake.folder(flaw.table, run_id) for run_id in runs[:SHOWN]]
    named = ", ".join(f"`{run_id}`" for run_id in runs)
    return Problem(
        what=f"`{flaw.table}` of run {named}: {flaw.what}: {flaw.id} {ids}{more}",
        where=", ".join(str(lake.display_path(place)) for place in places[:SHOWN]),
        remedy=remedy(runs[0], lake.display_path(lake.root / "lake")),
    )


def _files(lake: Lake, flaw: Flaw, rows: Sequence[Row]) -> list[Path]:
    """The files that contain the rows; none if the flaw is that rows are missing."""
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
