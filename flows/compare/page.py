"""The page of two runs, or of two models of one: requirements with paired intervals, then question by question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

import duckdb
import polars as pl

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.tasks.aggregate.compare import Comparison
from biasgrid.tasks.report.findings import run_facts
from biasgrid.tasks.report.html.mart_tables import CELLS, as_chunk, columns, of_run
from biasgrid.tasks.report.html.page import shell
from biasgrid.tasks.report.html.page_cache import Folder
from biasgrid.tasks.report.html.run_pages import Chunk, chunks
from biasgrid.tasks.report.languages import LANGUAGES
from biasgrid.warehouse.build.build import connect, find_run_row
from biasgrid.warehouse.schemas import BENCHMARK
from biasgrid.warehouse.storage.lake import Lake

OF_CELL: Final = ("side", "model", "requirement", "concern", "language", "input", "reflection")
KEPT: Final = (
    *("requirement", "concern", "model", "templates", "low", "high", "difference", "q_value", "change"),
    "why_not_compared",
)
RENAMED: Final = {
    "a_rate": "earlier_rate",
    "b_rate": "later_rate",
    "tolerance": "later_tolerance",
    "a_decision": "earlier_decision",
    "b_decision": "later_decision",
}


@dataclass(frozen=True)
class _Side:
    name: str
    """`a` or `b`."""
    run_id: str
    warehouse: duckdb.DuckDBPyConnection
    models: Mapping[str, str]
    """As the other side calls them."""
    only: bool
    """Whether `models` are all that is compared."""

    def cells(self) -> pl.DataFrame:
        rows = of_run(self.warehouse, CELLS, self.run_id).with_columns(side=pl.lit(self.name))
        return rows.filter(pl.col("model").is_in([*self.models])) if self.only else rows

    def head(self, lake: Lake, *, is_model: bool) -> dict[str, Any]:
        """What the page calls it."""
        run = run_facts(find_run_row(self.warehouse, lake, self.run_id))
        names = {"run_id": run.run_id, "name": run.name, "started_at": run.started_at, "state": run.state}
        return names | {"model": next(iter(self.models)) if is_model else None}


def write_comparison_pages(lake: Lake, found: Comparison, out: Path, language: str = LANGUAGES[0]) -> list[Path]:
    """Writes `index.html`, returned first, and `data/*.js`. Raises UserError for what has no such page."""
    _refuse_others(found)
    folder = Folder(out)
    with ExitStack() as opened:
        a, b = (_open(opened, lake, found, name) for name in ("a", "b"))
        first, second = a.cells(), b.cells()
        listed, written = [], []
        for number, chunk in enumerate(_by_turns(a, b, first, second)):
            written.append(_write(folder, f"tests-{number}", chunk.content))
            listed.append({"cells": chunk.cells, "replies": chunk.replies})
        heads = {side.name: side.head(lake, is_model=found.is_of_models) for side in (a, b)}
    same = first.with_columns(pl.col("model").replace(a.models))
    cells = columns(pl.concat([same, second]).select(OF_CELL))
    content = {"sides": heads, "cells": cells, "chunks": listed} | _tables(found)
    written.append(_write(folder, "compare", content))
    return [folder.write("index.html", shell("compare", language)), *written]


def _tables(found: Comparison) -> dict[str, Any]:
    requirements = found.tables["requirements"]
    return {
        "changes": Counter(requirements["change"]),
        "requirements": columns(requirements.select(*KEPT, **RENAMED)),
        "circumstances": columns(found.circumstances),
    }


def _refuse_others(found: Comparison) -> None:
    if found.kind != BENCHMARK:
        what = f"{found.later.run.of_kind} is compared on the terminal, not on a page"
        raise UserError(Problem(what, "--format html", "name another format, such as `markdown`"))
    if found.is_of_one_run or not (found.earlier.is_newest and found.later.is_newest):
        what = "a page shows the newest verdicts of a run, not those of another evaluation"
        raise UserError(Problem(what, "--format html", "name another format, such as `markdown`, or two runs"))


def _open(opened: ExitStack, lake: Lake, found: Comparison, name: str) -> _Side:
    run_id = (found.earlier if name == "a" else found.later).run.run_id
    warehouse = opened.enter_context(connect(lake, texts_of=run_id))
    models = found.models if name == "a" else {other: own for own, other in found.models.items()}
    return _Side(name, run_id, warehouse, models, found.is_of_models or bool(found.left_out))


def _write(folder: Folder, name: str, content: Mapping[str, Any]) -> Path:
    return folder.write(f"data/{name}.js", as_chunk(name, content))


def _by_turns(a: _Side, b: _Side, first: pl.DataFrame, second: pl.DataFrame) -> Iterator[Chunk]:
    """Chunks of both sides, so ordered that pairs are found early; places of the second follow the first's."""
    own = chunks(a.warehouse, a.run_id, first)
    others = (_shift(one, first.height) for one in chunks(b.warehouse, b.run_id, second))
    for pair in zip_longest(own, others):
        yield from filter(None, pair)


def _shift(chunk: Chunk, by: int) -> Chunk:
    tests = {**chunk.content["tests"], "place": [place + by for place in chunk.content["tests"]["place"]]}
    places = [place + by for place in chunk.cells]
    return Chunk({**chunk.content, "tests": tests}, places, chunk.replies, chunk.trigrams)
