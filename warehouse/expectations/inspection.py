"""A look at the lake and at a warehouse, table by table, judged by what is expected of them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb
from ulid import ULID

from biasgrid.warehouse.build.attach_lake import attach_lake
from biasgrid.warehouse.build.build import OFFLINE
from biasgrid.warehouse.build.sql_quoting import literal
from biasgrid.warehouse.expectations.expectation import Suite
from biasgrid.warehouse.expectations.narrow import Narrowed, narrowed
from biasgrid.warehouse.expectations.report import Failure, Inspected, Report
from biasgrid.warehouse.expectations.suites import all_suites
from biasgrid.warehouse.expectations.validation import validated
from biasgrid.warehouse.storage.lake import Lake

MEMORY = "2GiB"
"""What does not fit goes to disk: a build may be under way beside it."""


def inspect(lake: Lake, built: Path | None) -> Report:
    """What is expected of the lake and of the marts in `built`, or of the lake alone, and whether it holds.

    Writes pages about it in place of those of the last time. Raises `duckdb.Error` where a file of the lake
    cannot be read.
    """
    suites = [suite for suite in all_suites() if suite.of_the_lake or built]
    with _scratch(lake) as folder:
        tables = _narrowed(lake, built, suites, folder)
        frames, pages = folder / "frames", folder / "pages"
        frames.mkdir()
        failed = validated(tables, frames, pages)
        _replace(lake.pages, pages)
    return Report(tuple(_inspected(table, failed) for table in tables), lake.pages / "index.html")


def _narrowed(lake: Lake, built: Path | None, suites: Sequence[Suite], folder: Path) -> list[Narrowed]:
    with duckdb.connect(config=OFFLINE) as session:
        session.execute(f"set memory_limit = '{MEMORY}'; set TimeZone = 'UTC'")
        session.execute(f"set temp_directory = {literal(folder / 'spilled')}")
        attach_lake(session, lake)
        if built:
            session.execute(f"attach {literal(built)} as biasgrid (read_only); use biasgrid")
        return [narrowed(session, suite) for suite in suites]


def _inspected(table: Narrowed, failed: set[tuple[str, str]]) -> Inspected:
    relation = table.suite.relation
    failures = (
        Failure(relation, sentence, breach.rows, breach.examples)
        for sentence, breach in table.breaches.items()
        if (relation, sentence) in failed
    )
    return Inspected(relation, table.rows, len(table.suite.expectations), tuple(failures))


@contextmanager
def _scratch(lake: Lake) -> Iterator[Path]:
    """A folder that the next build sweeps away, should this process be killed."""
    folder = lake.root / f".{ULID()}.partial"
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _replace(pages: Path, written: Path) -> None:
    shutil.rmtree(pages, ignore_errors=True)
    written.rename(pages)
