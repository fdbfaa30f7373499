"""What a run's pages are made of, as a digest: where it is the same, they would be the same again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable

import duckdb
import orjson

ROOMS = ("report", "transcripts")
"""Where the programs lie that write pages."""
SHOWN_BY = (".py", ".js", ".css", ".html", ".json", ".j2")
"""Files of theirs that shape pages."""
_OF_RUNS = """
    select table_schema || '.' || table_name as relation
    from information_schema.columns
    where table_catalog = current_database() and table_schema in ('marts', 'staging') and column_name = 'run_id'
    order by relation
"""
_TREND = """
    with nights as (select run_id, sum(hash(held)::hugeint) as told from marts.trend as held group by run_id)

    select run_id, sum(told) over (order by run_id)::varchar as told from nights
"""
"""A run's page shows all that was before it."""


def contents(warehouse: duckdb.DuckDBPyConnection) -> dict[str, list[str]]:
    """Of each run, what tells all that the warehouse holds of it from anything else that it might hold."""
    found: dict[str, list[str]] = {}
    for relation, select in _selects(warehouse):
        for run_id, told in warehouse.execute(select).fetchall():
            found.setdefault(run_id, []).append(f"{relation}:{told}")
    return found


def _selects(warehouse: duckdb.DuckDBPyConnection) -> Iterator[tuple[str, str]]:
    for (relation,) in warehouse.execute(_OF_RUNS).fetchall():
        told = "concat_ws('/', count(*), sum(hash(held)::hugeint))"
        yield relation, f"select run_id, {told} from {relation} as held group by run_id"  # noqa: S608 - our models
    yield "nights", _TREND


def digest(content: list[str], **shown: object) -> str:
    """Of a run's content, of how it is `shown` (values that JSON has), and of the program that shows it."""
    told: Mapping[str, object] = {"content": content, "shown": shown, "program": _program()}
    return sha256(orjson.dumps(told, option=orjson.OPT_SORT_KEYS)).hexdigest()


@cache
def _program() -> str:
    return program(*(files("tasks").joinpath(room) for room in ROOMS))


def program(*rooms: Traversable) -> str:
    """A digest of what shapes pages in these folders."""
    found = sha256()
    for room in rooms:
        for file in _sources(room):
            found.update(file.name.encode() + b"\0" + sha256(file.read_bytes()).digest())
    return found.hexdigest()


def _sources(folder: Traversable) -> Iterator[Traversable]:
    for path in sorted(folder.iterdir(), key=lambda one: one.name):
        if path.is_dir():
            yield from _sources(path)
        elif path.name.endswith(SHOWN_BY):
            yield path
