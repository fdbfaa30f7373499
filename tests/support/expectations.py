"""A lake of one finished run and its warehouse, and the process that judges them: it takes seconds to load."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from biasgrid.warehouse.build.build import build
from biasgrid.warehouse.expectations.process import Inspector
from biasgrid.warehouse.storage.lake import Lake

CELL = "fairness-simulated-one-en_us-constrained-observational"
CASE = f"{CELL}/t/c0/1"


@pytest.fixture(scope="session")
def inspector() -> Iterator[Inspector]:
    with Inspector() as judging:
        yield judging


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, hand_made_in: Any, cell: Any, expected: Any) -> Lake:
    """Two models, each asked the same two templates; the run has ended and all its cells are prompted."""
    lake = Lake.open(tmp_path_factory.mktemp("finished"))
    replies = [*expected("t", "passed", "failed"), *expected("u", "passed", "refused")]
    hand_made_in(lake).land("R1", [cell(replies), cell(replies, model="simulated/two")])
    for path in lake.files("cells", "R1"):
        lake.write("cells", "R1", path.stem, pl.read_parquet(path).with_columns(state=pl.lit("prompted")))
    build(lake)
    return lake


@pytest.fixture
def whole(finished: Lake, tmp_path: Path) -> Lake:
    """A copy of it, to be damaged."""
    shutil.copytree(finished.root, tmp_path / "whole")
    return Lake(tmp_path / "whole")


@dataclass(frozen=True)
class Rewritten:
    """Changes what has landed: `rewritten(lake, "responses", text=None)`, of the rows on one case."""

    case: str = CASE

    def __call__(self, lake: Lake, table: str, **changes: Any) -> None:
        for path in lake.files(table, "R1"):
            rows = pl.read_parquet(path)
            lake.write(table, "R1", path.stem, self._with_changes(rows, changes))

    def _with_changes(self, rows: pl.DataFrame, changes: dict[str, Any]) -> pl.DataFrame:
        on_case = pl.col("case_id") == self.case if "case_id" in rows.columns else pl.lit(True)
        return rows.with_columns(
            pl.when(on_case).then(pl.lit(value).cast(rows.schema[name])).otherwise(pl.col(name)).alias(name)
            for name, value in changes.items()
        )


@pytest.fixture(scope="session")
def rewritten() -> Callable[..., None]:
    return Rewritten()


@pytest.fixture(scope="session")
def landed_again() -> Callable[..., None]:
    """Lands the rows on one case once more, changed: `landed_again(lake, "verdicts", verdict_id="stray")`."""

    def land(lake: Lake, table: str, **changes: Any) -> None:
        rows = lake.read(table, "R1").filter(pl.col("case_id") == CASE)
        changed = rows.with_columns(pl.lit(value).alias(name) for name, value in changes.items())
        lake.write(table, "R1", "again", changed)

    return land
