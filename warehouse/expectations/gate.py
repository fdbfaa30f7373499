"""Builds a warehouse that replaces the old one only if it and the lake meet all expectations."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
from ulid import ULID

from biasgrid.warehouse.build.attach_lake import attach_lake
from biasgrid.warehouse.build.build import build, hold_build_lock
from biasgrid.warehouse.build.model_tests import ModelTestFailed
from biasgrid.warehouse.build.reading import OFFLINE
from biasgrid.warehouse.build.sql_quoting import literal
from biasgrid.warehouse.expectations.narrow import Narrowed, as_request, narrow_table
from biasgrid.warehouse.expectations.process import Inspector, NotInspected, as_problem
from biasgrid.warehouse.expectations.report import ExpectationsFailed, Failure, Inspected, Report, as_mistakes
from biasgrid.warehouse.expectations.suites import all_suites
from biasgrid.warehouse.storage.errors import LakeDamaged
from biasgrid.warehouse.storage.lake import Lake

MEMORY = "2GiB"
"""DuckDB's memory limit; larger intermediate results are spilled to disk."""


def inspect(inspector: Inspector, lake: Lake, built: Path | None) -> Report:
    """Report on the lake and the marts in `built`, or on the lake alone.

    Replaces the pages of the previous inspection. Raises `NotInspected` if a file of the lake cannot be read, or
    the validation process has ended or failed.
    """
    try:
        with _scratch(lake) as folder:
            inspector.send({"begin": True})
            tables = []
            for table in _narrowed_tables(lake, built, folder):
                inspector.send(as_request(table))
                tables.append(table)
            failed = inspector.judge(folder / "pages")
            shutil.rmtree(lake.pages, ignore_errors=True)
            (folder / "pages").rename(lake.pages)
    except duckdb.Error as error:
        raise NotInspected(as_problem(f"{type(error).__name__}: {error}")) from error
    if lake.shared:
        lake.shared.publish_folder(lake.pages)
    return Report(tuple(_summarize(table, failed) for table in tables), lake.pages / "index.html")


def _narrowed_tables(lake: Lake, built: Path | None, folder: Path) -> Iterator[Narrowed]:
    """Narrowed tables, one at a time: each is validated while the next is read."""
    with duckdb.connect(config=OFFLINE) as session:
        session.execute(f"set memory_limit = '{MEMORY}'; set TimeZone = 'UTC'")
        session.execute(f"set temp_directory = {literal(folder / 'spilled')}")
        attach_lake(session, lake)
        if built:
            session.execute(f"attach {literal(built)} as biasgrid (read_only); use biasgrid")
        for suite in all_suites():
            if built or suite.of_the_lake:
                yield narrow_table(session, suite)


def _summarize(table: Narrowed, failed: set[tuple[str, str]]) -> Inspected:
    relation = table.suite.relation
    failures = (
        Failure(relation, sentence, breach.rows, breach.examples)
        for sentence, breach in table.breaches.items()
        if (relation, sentence) in failed
    )
    return Inspected(relation, table.rows, len(table.suite.expectations), tuple(failures))


@contextmanager
def _scratch(lake: Lake) -> Iterator[Path]:
    """A temporary folder; if this process is killed, the next build removes it."""
    folder = lake.root / f".{ULID()}.partial"
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def build_inspected(lake: Lake, inspector: Inspector) -> Report:
    """Builds the warehouse, and replaces the old one if all expectations are met.

    Raises `ExpectationsFailed` with all failures, and the errors of `build`; the old file is then unchanged.
    """
    passed: list[Report] = []

    def gate(built: Path) -> None:
        report = inspect(inspector, lake, built)
        if report.failures:
            raise ExpectationsFailed(tuple(as_mistakes(report, lake)), report)
        passed.append(report)

    try:
        build(lake, gate=gate)
    except (LakeDamaged, ModelTestFailed) as error:
        if (report := _of_lake(lake, inspector)) is None:
            raise
        found = error.mistakes if isinstance(error, LakeDamaged) else ()
        raise ExpectationsFailed((*found, *as_mistakes(report, lake)), report) from error
    return passed[0]


def _of_lake(lake: Lake, inspector: Inspector) -> Report | None:
    """Report on a lake whose warehouse build failed; None if nothing fails or nothing was checked."""
    try:
        with hold_build_lock(lake):
            report = inspect(inspector, lake, None)
    except NotInspected:
        return None
    return report if report.failures else None
