"""A person's own SQL on the warehouse; whatever is wrong with it is one clear message."""

from __future__ import annotations

import duckdb
import polars as pl

from catalogs.mistakes import Mistake, UserMistake
from warehouse.build import connect
from warehouse.lake import Lake

TABLES = 'biasgrid sql "select table_schema, table_name from information_schema.tables"'


def ask(lake: Lake, sql: str) -> pl.DataFrame:
    """The rows of one SELECT. Raises UserMistake where there is no warehouse, and for SQL that fails, that
    writes or reaches outside, that asks nothing, or whose columns no frame can hold."""
    with connect(lake) as warehouse:
        try:
            relation = warehouse.sql(sql)
            rows = None if relation is None else pl.from_arrow(relation.to_arrow_table())
        except duckdb.Error as error:
            raise UserMistake(Mistake(f"the query fails: {error}", remedy=_remedy(error))) from error
        except pl.exceptions.ComputeError as error:
            what = "a column of the answer has a type that cannot be shown, such as an interval"
            raise UserMistake(Mistake(what, remedy="cast it, say `(ended_at - started_at)::varchar`")) from error
    if not isinstance(rows, pl.DataFrame):
        raise UserMistake(Mistake("the query is empty", remedy='ask something, say "from marts.pass_rates"'))
    return rows


def _remedy(error: duckdb.Error) -> str:
    if isinstance(error, (duckdb.PermissionException, duckdb.InvalidInputException)):
        return "`sql` reads the warehouse and nothing else; for more, open the DuckDB file with a tool of your own"
    return f"what there is: {TABLES}"
