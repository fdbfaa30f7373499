"""Finds the runs that a build must compute, and replaces their rows in a copy of the last file.

The rows of a run are computed from its own files alone (models of scope `run`), so they stay as they are until one
of these files changes. The DuckDB file has a mark of each run: hashes of the names, sizes and times of its files,
one of those of its events, which are recorded after the build that ends a run, and one of the others. Another mark
is of the SQL, macros and code that computed the rows.
"""

# ruff: noqa: S608 - names from our own models, values escaped

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import duckdb
import polars as pl

from biasgrid.warehouse.build.attach_lake import Landed, attach_lake, run_of
from biasgrid.warehouse.build.materialize import STORAGE
from biasgrid.warehouse.build.models import Model
from biasgrid.warehouse.build.sql_quoting import literal, quote_all
from biasgrid.warehouse.build.text_views import EXCEPTIONS, STORED
from biasgrid.warehouse.hashing import content_hash
from biasgrid.warehouse.schemas import KINDS, OF_KINDS, SCHEMA_VERSION, UNITS
from biasgrid.warehouse.storage.lake import Lake

MARKS = f"{STORAGE}.run_marks"
"""Table of the marks: `run_id`, `mark`; the mark of what computed them has no run."""

EVENT, RUNS = "runs", "staging.stg_runs"
"""Table of the events of runs, and the only model that reads it."""

PART = "part"
"""Name under which a file with the rows of some runs is attached."""

FILLED = f"""
    select schema_name || '.' || table_name
    from duckdb_tables()
    where database_name = {literal(PART)} and estimated_size > 0
"""


@dataclass(frozen=True, slots=True)
class Increment:
    """What a build has to do."""

    marks: Mapping[str | None, str]
    """The marks that the new file gets."""
    changed: frozenset[str]
    """Runs to compute."""
    gone: frozenset[str] = frozenset()
    """Runs in the last file that are no longer in the lake."""
    is_whole: bool = False
    """Whether nothing of the last file can be kept."""

    @property
    def is_empty(self) -> bool:
        return not (self.changed or self.gone or self.is_whole)

    @property
    def replaced(self) -> str:
        """Ids of runs whose rows in the last file no longer hold, as an SQL list."""
        return ", ".join(map(literal, sorted(self.changed | self.gone)))

    def select(self, landed: Landed) -> Landed:
        """The files of the runs to compute."""
        return {table: [file for file in own if run_of(file) in self.changed] for table, own in landed.items()}


def find_increment(lake: Lake, last: Path | None, ordered: Sequence[Model], landed: Landed) -> Increment:
    """What has changed since the file `last` was built; everything if there is none or it cannot be read."""
    marks = mark_runs(landed) | {None: _mark_models(ordered)}
    before = _read_marks(last) if last and _can_be_kept(ordered, landed) else {}
    runs = frozenset(run_id for run_id in marks if run_id)
    if last is None or before.get(None) != marks[None]:
        return Increment(marks, runs, is_whole=True)
    differing = {run_id for run_id in runs if before.get(run_id) != marks[run_id]}
    recorded = {run_id for run_id in differing if before.get(run_id, "").split()[:1] == marks[run_id].split()[:1]}
    events = [file for file in landed[EVENT] if run_of(file) in recorded]
    changed = frozenset(differing - _find_unchanged(lake, last, ordered, events))
    gone = frozenset(run_id for run_id in before if run_id) - runs
    return Increment(marks, changed, gone, is_whole=changed == runs)


def mark_runs(landed: Landed) -> dict[str | None, str]:
    """The mark of each run: of its files but those of its events, and of these."""
    events = _mark_files({EVENT: landed[EVENT]})
    others = _mark_files({table: own for table, own in landed.items() if table != EVENT})
    return {run_id: f"{others.get(run_id, '-')} {events.get(run_id, '-')}" for run_id in {**events, **others}}


def _mark_files(landed: Landed) -> dict[str, str]:
    seen: dict[str, list[str]] = {}
    for table, own in landed.items():
        for file in own:
            stat = file.stat()
            seen.setdefault(run_of(file), []).append(f"{table} {file.name} {stat.st_size} {stat.st_mtime_ns}")
    return {run_id: content_hash(*sorted(marks)) for run_id, marks in seen.items()}


def _find_unchanged(lake: Lake, last: Path, ordered: Iterable[Model], events: Sequence[Path]) -> set[str]:
    """Runs of these files of events whose row in the file `last` still holds: no other model reads events."""
    if not events:
        return set()
    runs = next(model for model in ordered if model.relation == RUNS)
    columns = quote_all(runs.about.columns)
    rows = f"select {columns} from ({runs.sql}) intersect select {columns} from last_file.{RUNS}"
    with duckdb.connect() as session, suppress(duckdb.Error):  # damage, which the build names
        attach_lake(session, lake, wanted=(), landed={EVENT: events})
        session.execute(f"attach {literal(last)} as last_file (read_only)")
        return {run_id for (run_id,) in session.execute(f"select run_id from ({rows})").fetchall()}
    return set()


def write_marks(warehouse: duckdb.DuckDBPyConnection, increment: Increment) -> None:
    """Stores the marks of the runs that a file holds, and writes the file to disk."""
    meaning = literal(STORED[MARKS.removeprefix(f"{STORAGE}.")])
    marks = pl.DataFrame([*increment.marks.items()], {"run_id": pl.String, "mark": pl.String}, orient="row")
    warehouse.register("new_marks", marks.to_arrow())
    create = f"create or replace table {MARKS} as from new_marks"
    warehouse.execute(f"{create}; comment on table {MARKS} is {meaning}")
    warehouse.unregister("new_marks")
    warehouse.execute("checkpoint biasgrid")  # DuckDB ignores write errors when it closes


def of_one_run(ordered: Iterable[Model]) -> dict[str, tuple[str, ...]]:
    """Tables of models of one run, each with the columns that it is sorted by."""
    kept = (model for model in ordered if model.is_kept and not model.is_of_history)
    return {model.relation: model.about.grain if model.schema == "marts" else () for model in kept}


def replace_runs(warehouse: duckdb.DuckDBPyConnection, ordered: Sequence[Model], increment: Increment) -> None:
    """Removes rows of changed and missing runs, and adds those of the attached file PART, if there is one."""
    exceptions: dict[str, tuple[str, ...]] = {f"{STORAGE}.found_{name}": () for name in EXCEPTIONS}
    filled = {relation for (relation,) in warehouse.execute(FILLED).fetchall()}
    for relation, order in (of_one_run(ordered) | exceptions).items():
        warehouse.execute(f"delete from {relation} where run_id in ({increment.replaced})")
        if relation in filled:
            add_rows(warehouse, relation, order, f"{PART}.{relation}")


def replace_pairs(warehouse: duckdb.DuckDBPyConnection, model: Model, increment: Increment) -> None:
    """Computes rows of pairs of runs that are new or have changed, and removes those of pairs that are gone."""
    pairs, relation = model.about.pairs, model.relation
    described = warehouse.execute(f"describe {pairs}").fetchall()
    columns = [name for name, *_ in described if name in model.about.columns]
    pair = f"hash({quote_all(columns)})"
    changed = f"run_id in ({increment.replaced}) or earlier_run_id in ({increment.replaced})"
    warehouse.execute(f"delete from {relation} where {changed} or {pair} not in (select {pair} from {pairs})")
    new = f"from {pairs} where {pair} not in (select {pair} from {relation})"
    warehouse.execute(f"create or replace temp table new_pairs as {new}")
    warehouse.execute(f"create or replace temp table new_rows as {model.sql.replace(pairs, 'new_pairs')}")
    add_rows(warehouse, relation, model.about.grain, "new_rows")


def add_rows(warehouse: duckdb.DuckDBPyConnection, relation: str, order: Collection[str], added: str) -> None:
    """Inserts the rows of another table; `order`: columns by which they are sorted, mostly the run first."""
    if order and not _is_later(warehouse, relation, order, added):
        rows = f"from {relation} union all from {added}"
        warehouse.execute(f"create or replace temp table sorted_rows as {rows}; delete from {relation}")
        added = "sorted_rows"
    sorting = f" order by {quote_all(order)}" if order else ""
    warehouse.execute(f"insert into {relation} from {added}{sorting}")


def _is_later(warehouse: duckdb.DuckDBPyConnection, relation: str, order: Collection[str], added: str) -> bool:
    """Whether all rows to add come after those of the table."""
    first, last = f"(select min(run_id) from {added})", f"(select max(run_id) from {relation})"
    is_later = warehouse.execute(f"select coalesce({first} > {last}, true)").fetchall()[0][0]
    return next(iter(order)) == "run_id" and bool(is_later)


def without_other_kinds(warehouse: duckdb.DuckDBPyConnection, landed: Landed) -> Landed:
    """The files of benchmarks, which views of cases and verdicts read, and those of replies."""
    found = warehouse.execute(f"select run_id from staging.stg_runs where kind <> '{KINDS[0]}'").fetchall()
    others = {run_id for (run_id,) in found}
    return {
        table: [file for file in own if table not in OF_KINDS or run_of(file) not in others]
        for table, own in landed.items()
    }


def _can_be_kept(ordered: Iterable[Model], landed: Landed) -> bool:
    of_runs = {model.relation: model for model in ordered if model.is_kept and not model.is_of_history}
    are_apart = all("run_id" in model.about.columns for model in of_runs.values())
    return are_apart and RUNS in of_runs and all(landed[table] for table in UNITS)


def _read_marks(last: Path) -> dict[str | None, str]:
    try:
        with duckdb.connect() as session:
            session.execute(f"attach {literal(last)} as last_file (read_only)")
            return dict(session.execute(f"select run_id, mark from last_file.{MARKS}").fetchall())
    except duckdb.Error:  # an older file, or a damaged one: all is computed again
        return {}


def _mark_models(ordered: Iterable[Model]) -> str:
    models = [(model.file, model.sql, model.about.model_dump_json()) for model in ordered]
    return content_hash(SCHEMA_VERSION, duckdb.__version__, _mark_code(), models)


@cache
def _mark_code() -> str:
    """Changes with the macros, and with the code that computes and stores rows."""
    folders = (files("biasgrid.warehouse") / "macros", files("biasgrid.warehouse.build"))
    sources = [file for folder in folders for file in folder.iterdir() if file.name.endswith((".sql", ".py"))]
    return content_hash(*sorted(file.read_text(encoding="utf-8") for file in sources))
