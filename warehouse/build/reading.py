"""The last built file, opened once in a process and for reading: a connection takes two milliseconds, and opening
the file with its macros and views forty."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import duckdb

from biasgrid.warehouse.build.sql_quoting import literal
from biasgrid.warehouse.build.text_views import allow_texts, session_variables
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.verification import Mark, mark_of

OFFLINE: Final[dict[str, str | bool | int | float | list[str]]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
}
"""DuckDB settings: no download at run time, and no Python variable is read as a table."""


@dataclass(frozen=True, slots=True)
class _Opened:
    path: Path
    mark: Mark
    instance: duckdb.DuckDBPyConnection


_opened: list[_Opened] = []
"""At most the file that was read last, as it was then: a build replaces it."""
_one_at_a_time = threading.Lock()


def open_built_file(lake: Lake, texts_of: str | None) -> duckdb.DuckDBPyConnection:
    """A connection of its own to the file, in UTC, which reaches no network and no files except the lake's.
    `texts_of`: as of `connect`. Raises `duckdb.Error`."""
    with _one_at_a_time:
        path, mark = lake.database, mark_of(lake.database)
        if not _opened or (_opened[0].path, _opened[0].mark) != (path, mark):
            _opened[:] = [_Opened(path, mark, _open(lake))]
        connection = _opened[0].instance.cursor()
    for setting in ("use biasgrid", *session_variables(lake, texts_of)):
        connection.execute(setting)
    return connection


def _open(lake: Lake) -> duckdb.DuckDBPyConnection:
    # attached, not opened: DuckDB would reuse an open database of the same path, even if the file was replaced
    instance = duckdb.connect(config=OFFLINE)
    try:
        instance.execute(f"attach {literal(lake.database)} as biasgrid (read_only)")
        for setting in (allow_texts(lake), "TimeZone = 'UTC'", "enable_external_access = false"):
            instance.execute(f"set global {setting}")
        instance.execute("set lock_configuration = true")
    except duckdb.Error:
        instance.close()
        raise
    return instance
