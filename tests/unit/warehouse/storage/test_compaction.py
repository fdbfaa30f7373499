"""Small files of a run, folded into one: never other rows than theirs, and nothing is lost with it."""

import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.warehouse.build.build import build, query
from biasgrid.warehouse.storage import compaction
from biasgrid.warehouse.storage.errors import LakeDamaged
from biasgrid.warehouse.storage.lake import Lake

FILES = 12


def find_files(lake: Lake) -> list[Path]:
    return compaction.fold_files(lake, "responses", lake.files("responses"))


def rows(lake: Lake) -> pl.DataFrame:
    return pl.read_parquet(find_files(lake), glob=False, missing_columns="insert").sort("response_id")


@pytest.fixture
def land(hand_made: Any, cell: Any, expected: Any) -> Any:
    """Lands a run with a file for each of so many models."""

    def land_run(run_id: str, files: int, outcome: str = "passed") -> None:
        cells = [cell(expected("t", outcome), model=f"simulated/m{number:02}") for number in range(files)]
        hand_made.land(run_id, cells)

    return land_run


@pytest.fixture
def nights(lake: Lake, land: Any) -> Lake:
    """Two runs of many small files, and one of few."""
    for run_id, files in (("A", FILES), ("B", FILES), ("C", compaction.MANY - 1)):
        land(run_id, files)
    return lake


def test_runs_of_many_small_files_are_read_from_one_each(nights):
    assert [path.parent.name[-1] for path in find_files(nights)] == ["A", "B", *["C"] * (compaction.MANY - 1)]
    assert rows(nights).equals(nights.read("responses").sort("response_id"))


def test_what_lands_later_or_changes_is_seen(nights, land):
    before = find_files(nights)
    land("A", FILES + 1)
    land("B", FILES, "error")
    assert rows(nights).equals(nights.read("responses").sort("response_id"))
    assert rows(nights).filter(run_id="A").height == FILES + 1
    assert rows(nights).filter(run_id="B")["text"].null_count() == FILES
    assert not any(path.exists() for path in before[:2]), "what stood for other files stays"


def test_a_run_that_is_gone_leaves_nothing(nights):
    one = find_files(nights)[0]
    shutil.rmtree(nights.folder("responses", "A"))
    assert set(rows(nights)["run_id"]) == {"B", "C"}
    assert not one.parent.exists()


def test_nor_does_one_that_has_few_files_left(nights):
    one = find_files(nights)[0]
    for path in nights.files("responses", "A")[compaction.MANY - 1 :]:
        path.unlink()
    assert rows(nights).filter(run_id="A").height == compaction.MANY - 1
    assert not one.parent.exists()


def test_a_damaged_file_is_named_though_its_rows_were_folded_before(nights):
    build(nights)
    path = nights.files("responses", "A")[3]
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(LakeDamaged, match=path.name):
        build(nights)
    assert query(nights, "select sum(requests) as n from marts.costs where run_id = 'A'")["n"].item() == FILES
    with pytest.raises(UserError, match=path.name):
        query(nights, "select text from staging.stg_responses where run_id = 'A'", texts_of="A")


def test_where_nothing_can_be_written_the_files_themselves_are_read(nights):
    (nights.root / "folded").write_text("in the way")
    assert find_files(nights) == nights.files("responses")


def test_a_folded_file_may_be_deleted(nights):
    before = rows(nights)
    shutil.rmtree(nights.root / "folded")
    assert rows(nights).equals(before)
