"""The report of all runs: who stands where, every run of every kind, and how models change over nights."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Protocol

import duckdb
import orjson
import polars as pl

from biasgrid.tasks.report.answer import ModelAnswer, rank_models
from biasgrid.tasks.report.checks import checks_of
from biasgrid.tasks.report.html.first_view import model_line
from biasgrid.tasks.report.html.mart_tables import LEADERBOARD, RUNS, as_chunk, columns, head, trend
from biasgrid.tasks.report.html.page import Neighbour, Ways, shell, ways_between
from biasgrid.tasks.report.html.page_cache import Folder, holds, renew, take_away
from biasgrid.tasks.report.kinds.benchmark import BOARD
from biasgrid.tasks.report.languages import LANGUAGES
from biasgrid.warehouse.build.build import connect, fetch_rows
from biasgrid.warehouse.build.text_views import ALL, reading_texts
from biasgrid.warehouse.schemas import BENCHMARK
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.tombstones import find_tombstones

ROOMS = ("report", "transcripts")
"""Where the programs lie that write pages."""
SHOWN_BY = (".py", ".js", ".css", ".html", ".json", ".j2")
"""Files of theirs that shape pages."""
_OF_RUNS = """
    select table_schema || '.' || table_name as relation
    from information_schema.columns
    where
        table_catalog = current_database()
        and table_schema in ('marts', 'intermediate', 'staging')
        and column_name = 'run_id'
        -- previous names of intermediate models
        and (table_schema <> 'staging' or replace(table_name, 'stg_', 'int_') not in (
            select table_name from information_schema.tables where table_schema = 'intermediate'
        ))
    order by relation
"""
_TREND = """
    with nights as (select run_id, sum(hash(held)::hugeint) as stamp from marts.trend as held group by run_id)

    select run_id, sum(stamp) over (order by run_id)::varchar as stamp from nights
"""
"""A run's page shows all that was before it."""


def contents(warehouse: duckdb.DuckDBPyConnection) -> dict[str, list[str]]:
    """For each run, stamps of all that the warehouse holds of it."""
    found: dict[str, list[str]] = {}
    for relation, select in _selects(warehouse):
        for run_id, content_of in warehouse.execute(select).fetchall():
            found.setdefault(run_id, []).append(f"{relation}:{content_of}")
    return found


def _selects(warehouse: duckdb.DuckDBPyConnection) -> Iterator[tuple[str, str]]:
    for (relation,) in warehouse.execute(_OF_RUNS).fetchall():
        content_of = "concat_ws('/', count(*), sum(hash(held)::hugeint))"
        yield relation, f"select run_id, {content_of} from {relation} as held group by run_id"  # noqa: S608 - our models
    yield "nights", _TREND


def digest(content: list[str], **shown: object) -> str:
    """Of a run's content, of how it is `shown` (values that JSON has), and of the program that shows it."""
    content_of: Mapping[str, object] = {"content": content, "shown": shown, "program": _program()}
    return sha256(orjson.dumps(content_of, option=orjson.OPT_SORT_KEYS)).hexdigest()


@cache
def _program() -> str:
    return program(*(files("biasgrid.tasks").joinpath(room) for room in ROOMS))


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


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
COUNTS = ("findings", "met", "not_met", "undecided", "not_evaluated", "worse")
Row = Mapping[str, Any]


class Write(Protocol):
    """Writes a run's pages into a folder."""

    def __call__(
        self, lake: Lake, run_id: str, out: Path, language: str = ..., ways: Ways | None = ...
    ) -> list[Path]: ...


@dataclass(frozen=True, slots=True)
class PagesOf:
    """Pages of a kind of run: what writes them, and the file to open first."""

    write: Write
    first: str


@dataclass(frozen=True, slots=True)
class Site:
    """What has been written: the page to open, and of how many runs the pages are new or were kept."""

    index: Path
    written: int
    kept: int


def write_lake_pages(lake: Lake, out: Path, pages: Mapping[str, PagesOf], language: str = LANGUAGES[0]) -> Site:
    """Writes the page of all runs, and renews those of single runs that are not current."""
    with connect(lake, texts_of=ALL) as warehouse, reading_texts():
        rows = fetch_rows(warehouse, RUNS).to_dicts()
        content, made_of = _content(warehouse), contents(warehouse)
    forgotten = find_tombstones(lake)
    present = (row for row in rows if row["run_id"] not in forgotten)
    shown = {row["run_id"]: of for row in present if (of := _pages_of(row, pages))}
    runs = [_list_entry(row, shown.get(row["run_id"])) for row in rows]
    kept = []
    for run_id, ways in _ways(runs):
        write = partial(shown[run_id].write, lake, run_id, language=language, ways=ways)
        made = digest(made_of[run_id], language=language, ways=ways.as_json())
        kept.append(_renew_unless_current(out / "runs" / run_id, write, made))
    _take_others_away(out / "runs", shown.keys())
    folder = Folder(out)
    folder.write("data/lake.js", as_chunk("lake", content | {"runs": runs}))
    return Site(folder.write("index.html", shell("lake", language)), kept.count(False), kept.count(True))


def _renew_unless_current(root: Path, write: Callable[[Path], list[Path]], made: str) -> bool:
    """Whether the pages that lie there hold; they are written anew where they do not."""
    held = holds(root, made)
    if not held:
        renew(root, write, made)
    return held


def _pages_of(row: Row, pages: Mapping[str, PagesOf]) -> PagesOf | None:
    return pages.get(row["kind"] or "benchmark") if _NAME.fullmatch(row["run_id"]) else None


def _list_entry(row: Row, pages: PagesOf | None) -> dict[str, Any]:
    content_of = head(row)
    del content_of["rationales"]
    page = pages and f"runs/{row['run_id']}/{pages.first}"
    return content_of | {name: row[name] for name in COUNTS} | {"page": page}


def _ways(runs: Sequence[Row]) -> Iterator[tuple[str, Ways]]:
    """Of each run that has a page."""
    own = [run for run in runs if run["page"]]
    found = [Neighbour(run["page"].replace("runs/", "../", 1), run["name"], run["started_at"]) for run in own]
    return zip((run["run_id"] for run in own), ways_between(found), strict=True)


def _take_others_away(folder: Path, run_ids: Iterable[str]) -> None:
    listed = set(run_ids)
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.name not in listed:
            take_away(path)


def _content(warehouse: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    findings = fetch_rows(warehouse, LEADERBOARD)
    checks = checks_of(fetch_rows(warehouse, BOARD))
    return {
        "findings": columns(findings),
        "boards": _boards(rank_models(checks, BENCHMARK), findings),
        "trend": columns(trend(warehouse)),
    }


def _boards(models: Iterable[ModelAnswer], findings: pl.DataFrame) -> list[list[dict[str, Any]]]:
    """Models that were held to the same, of the same templates, in one list each; the longest first."""
    rows = findings.group_by("model").agg(pl.col("comparable").unique().sort())
    asked = {model: tuple(same) for model, same in rows.iter_rows()}
    boards: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for one in models:
        boards.setdefault(asked[one.model], []).append(model_line(one))
    return sorted(boards.values(), key=len, reverse=True)
