"""The lake's tables as views in SQL, for a DuckDB session of one's own: declared columns, in their types."""

from __future__ import annotations

from functools import cache

import duckdb

from biasgrid.warehouse.build.sql_quoting import literal, literally, quoted
from biasgrid.warehouse.queries.schema_docs import table_meaning
from biasgrid.warehouse.schema_check import declared
from biasgrid.warehouse.schemas import TABLES
from biasgrid.warehouse.storage.lake import Lake

HEAD = """-- The lake's tables as views. In a DuckDB session: .read {name}
-- They read the Parquet files where they lie and write nothing; what lands later in a table shows by itself.
create schema if not exists lake;
"""
MIRRORED = """-- The files are this machine's copies of those at {address}: biasgrid's next command renews them.
"""
NOTHING_LANDED = "-- nothing had landed here when this was written: write it again when something has\n"


def as_script(lake: Lake, name: str = "views.sql") -> str:
    """One view per table of the lake, as SQL that any DuckDB session can run again and again. `name` is what the
    file will be called."""
    mirrored = MIRRORED.format(address=lake.named) if lake.shared else ""
    return "\n".join([mirrored + HEAD.format(name=name), *(_view(lake, table) for table in TABLES)])


@cache
def column_types(table: str) -> dict[str, str]:
    """DuckDB's type of each declared column of a table of the lake."""
    with duckdb.connect() as session:
        session.register("declared_rows", declared(table).empty_table())
        return {name: kind for name, kind, *_ in session.execute("describe declared_rows").fetchall()}


def _view(lake: Lake, table: str) -> str:
    meaning = " ".join(table_meaning(table).split())
    body = _landed(lake, table) if lake.files(table) else NOTHING_LANDED + _none(table)
    return f"-- {meaning}\ncreate or replace view lake.{table} as\n{body};\n"


def _landed(lake: Lake, table: str) -> str:
    return of_files(table, literal(f"{literally(lake.root)}/lake/{table}/run_id=*/*.parquet"))


def of_files(table: str, files: str) -> str:
    """A SELECT of the declared columns from Parquet files, which an SQL expression names; those columns that are
    younger than every file are null."""
    columns = (f"    {quoted(name)}::{kind} as {quoted(name)}" for name, kind in column_types(table).items())
    landed = f"read_parquet({files}, union_by_name = true, hive_partitioning = false)"
    rows = f"{_indented(_none(table))}    union all by name\n    from {landed}"
    return "select\n" + ",\n".join(columns) + f"\nfrom (\n{rows}\n)"


def _none(table: str) -> str:
    columns = (f"    null::{kind} as {quoted(name)}" for name, kind in column_types(table).items())
    return "select\n" + ",\n".join(columns) + "\nwhere false"


def _indented(sql: str) -> str:
    return "".join(f"    {line}\n" for line in sql.splitlines())
