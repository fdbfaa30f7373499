"""A person's own SQL on the warehouse, and files of its models for other programs."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import duckdb
import polars as pl

from biasgrid.catalogs.errors import Problem, UserError, nearest
from biasgrid.flows.runs.prepare import existing_lake
from biasgrid.tasks.aggregate.export import SUFFIX, Kind, write_model
from biasgrid.warehouse.build.build import connect
from biasgrid.warehouse.build.models import load_models
from biasgrid.warehouse.build.text_views import ALL, reading_texts
from biasgrid.warehouse.queries.example_queries import worked_queries
from biasgrid.warehouse.queries.lineage import as_script
from biasgrid.warehouse.schemas import KINDS
from biasgrid.warehouse.storage.export_files import write_text
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import Run, find_run, refuse_other_kinds


def export(
    model: str,
    kind: Kind,
    run: str | None = None,
    out: Path | None = None,
    data: str | Path | None = None,
    *,
    force: bool = False,
) -> tuple[Path, int]:
    """Writes a model, of all runs or of one; returns the file and its number of rows. Raises UserError."""
    lake = existing_lake(data)
    found = find_run(lake, run) if run else None
    if found:
        _refuse_other_kind(model, found)
    run_id = found.run_id if found else None
    path = out or Path(f"{_file_name(model, run_id)}.{SUFFIX[kind]}")
    refuse_to_replace(path, force=force)
    return path, write_model(lake, model, kind, path, run_id)


def _refuse_other_kind(model: str, run: Run) -> None:
    """Raises UserError if a model has rows of another kind of run alone."""
    name = model.rpartition(".")[2]
    kinds = {known.file.split("/")[1] for known in load_models() if known.name == name}
    if kinds and kinds <= {*KINDS}:
        refuse_other_kinds(run, f"`{name}`", *kinds)


def write_views(out: Path | None, data: str | Path | None = None, *, force: bool = False) -> str:
    """The lake's tables as views, in SQL; written to `out` if named. Raises UserError."""
    lake = existing_lake(data)
    if not lake.runs():
        what = f"nothing has landed in `{lake.named}`"
        raise UserError(Problem(what, "--data", "run a scenario first, or name the place of its data"))
    if out is None:
        return as_script(lake)
    refuse_to_replace(out, force=force)
    script = as_script(lake, out.name)
    write_text(out, script)
    return script


def refuse_to_replace(path: Path, *, force: bool, option: str = "--out") -> None:
    """Raises UserError if a file or folder exists (`option` named it); a folder is never replaced."""
    if path.is_dir():
        raise UserError(Problem(f"`{path}` is a directory", option, "name a file in it"))
    if path.exists() and not force:
        remedy = "name another file, or replace this one with --force"
        raise UserError(Problem(f"`{path}` exists already", option, remedy))


def _file_name(model: str, run_id: str | None) -> str:
    name = model.rpartition(".")[2]
    return f"{run_id}_{name}" if run_id else name


TABLES = 'biasgrid sql "select table_schema, table_name from information_schema.tables"'

CAST = "cast it, say `(ended_at - started_at)::varchar`"
STAGED = re.compile(r"\bstg_", re.IGNORECASE)
COPIES = re.compile(r"\bcopy\b", re.IGNORECASE)
WRITING = frozenset([duckdb.StatementType.COPY, duckdb.StatementType.EXPORT, duckdb.StatementType.ATTACH])
ANSWERED = frozenset([duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN])
READS_ALONE = "`sql` reads the warehouse and nothing else; for more, open the DuckDB file with a tool of your own"
HELD_BY_NO_FRAME = re.compile(r"\b(?:INTERVAL|BLOB|BIT|UNION|VARIANT|BIGNUM|GEOMETRY)\b")


def read_query(query: str | None, file: Path | None, example: str | None) -> str:
    """The one given query: SQL, a file (`-`: standard input), or an example. Raises UserError."""
    if [query, file, example].count(None) != 2:
        remedy = 'ask one thing: a query such as "from marts.pass_rates", --file FILE or --example NAME'
        raise UserError(Problem("there is not exactly one query", remedy=remedy))
    if file is not None:
        return _read(file)
    return _example(example) if example is not None else str(query)


def _read(file: Path) -> str:
    try:
        return sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        name = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        remedy = "name a file with one SELECT"
        raise UserError(Problem(f"`{file}` cannot be read: {name}", "--file", remedy)) from error


def _example(name: str) -> str:
    known = worked_queries()
    if name not in known:
        raise UserError(Problem(f"no query `{name}` comes along", "--example", nearest(name, known)))
    return known[name].sql


def ask(lake: Lake, sql: str) -> pl.DataFrame:
    """Rows of one SELECT, its tables those of `marts` by default. Raises UserError."""
    with connect(lake, texts_of=ALL if STAGED.search(sql) else None) as warehouse:
        try:
            statements = warehouse.extract_statements(sql)
            _refuse_writing(statements)
            _refuse_many(statements)
            warehouse.execute("use biasgrid.marts")
            with reading_texts():
                relation = warehouse.sql(sql)
                rows = None if relation is None else _frame(relation)
        except duckdb.Error as error:
            raise UserError(Problem(f"the query fails: {error}", remedy=_remedy(error))) from error
        except pl.exceptions.PolarsError as error:
            raise UserError(Problem(f"the answer cannot be shown: {error}", remedy=CAST)) from error
    if rows is None:
        raise UserError(Problem("the query is empty", remedy='ask something, say "from marts.pass_rates"'))
    return rows


def _refuse_writing(statements: Sequence[duckdb.Statement]) -> None:
    """The lake's files may be read in this session, and who may read a file could COPY over it as well."""
    explained = any(COPIES.search(of.query) for of in statements if of.type == duckdb.StatementType.EXPLAIN)
    if explained or any(of.type in WRITING for of in statements):
        raise UserError(Problem("the query fails: it writes", remedy=READS_ALONE))


def _refuse_many(statements: Sequence[duckdb.Statement]) -> None:
    """DuckDB would answer the last one alone."""
    queries = sum(of.type in ANSWERED for of in statements)
    if queries > 1:
        raise UserError(Problem(f"there are {queries} queries", remedy="ask one, or `union` their rows"))


def _frame(relation: duckdb.DuckDBPyRelation) -> pl.DataFrame:
    for name, kind in zip(relation.columns, map(str, relation.types), strict=True):
        if HELD_BY_NO_FRAME.search(kind):
            raise UserError(Problem(f"column `{name}` is of type {kind}, which cannot be shown", remedy=CAST))
    table = relation.to_arrow_table()
    rows = pl.from_arrow(table.rename_columns(_number_names(table.column_names)))
    assert isinstance(rows, pl.DataFrame)  # noqa: S101 - a table becomes a frame, never a series
    return rows


def _number_names(names: Iterable[str]) -> list[str]:
    """The names, a second `a` as `a_1`, unless the answer has a column of that name."""
    given = list(names)
    apart: dict[str, None] = {}
    for name in given:
        own, number = name, 0
        while own in apart or (number and own in given):
            number += 1
            own = f"{name}_{number}"
        apart[own] = None
    return list(apart)


def _remedy(error: duckdb.Error) -> str:
    if isinstance(error, (duckdb.PermissionException, duckdb.InvalidInputException)):
        return READS_ALONE
    return f"what there is: {TABLES}"
