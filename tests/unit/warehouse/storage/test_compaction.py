"""A run's files become few: rows, names and the possibility to replace a part stay."""

import fcntl

import polars as pl
import pyarrow.parquet as pq
import pytest

from biasgrid.warehouse.build.build import build, query
from biasgrid.warehouse.schemas import TABLES
from biasgrid.warehouse.storage.compaction import compact_run, compact_runs, find_superseded
from biasgrid.warehouse.storage.errors import LakeDamaged
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.manifest import FILE
from biasgrid.warehouse.storage.pack_file import is_pack
from biasgrid.warehouse.storage.run_lock import RunLock


def case(cell_id: str, case_id: str) -> dict[str, object]:
    keys = {"template_id": "t", "instance_id": "i", "sample": 1, "request_key": case_id}
    return {"run_id": "R1", "cell_id": cell_id, "case_id": case_id, **keys}


def land(lake: Lake, cell_id: str, *case_ids: str) -> None:
    lake.write("cases", "R1", cell_id, pl.DataFrame([case(cell_id, case_id) for case_id in case_ids]))


@pytest.fixture
def cells(lake: Lake) -> Lake:
    for number in range(20):
        land(lake, f"cell-{number:02}", *(f"{number:02}-{own}" for own in range(number + 1)))
    return lake


def test_all_rows_are_in_one_file_and_each_name_still_reads_its_own(cells):
    before = cells.read("cases", "R1")
    compact_run(cells, "R1")
    (path,) = cells.files("cases", "R1")
    assert is_pack(path)
    assert cells.read("cases", "R1").equals(before)
    assert cells.read("cases").equals(before)
    for name, pattern in (("cell-07", "cell-07"), ("cell-0", "cell-0*"), ("no", "no-*")):
        expected = before.filter(pl.col("cell_id").str.starts_with(name))
        assert cells.read("cases", "R1", pattern).equals(expected)
        assert cells.read("cases", name=pattern).equals(expected)
        assert bool(cells.files("cases", "R1", pattern)) == bool(expected.height)


def test_a_later_file_takes_the_place_of_a_part(cells):
    compact_run(cells, "R1")
    land(cells, "cell-03", "new")
    assert cells.read("cases", "R1", "cell-03")["case_id"].to_list() == ["new"]
    assert cells.read("cases", "R1").height == sum(range(1, 21)) - 3
    compact_run(cells, "R1")
    (path,) = cells.files("cases", "R1")
    assert is_pack(path)
    assert cells.read("cases", "R1", "cell-03")["case_id"].to_list() == ["new"]


def test_what_lands_afterwards_is_added_and_compacted_with_it(cells):
    compact_run(cells, "R1")
    land(cells, "added", "a")
    assert len(cells.files("cases", "R1")) == 2
    compact_run(cells, "R1")
    assert len(cells.files("cases", "R1")) == 1
    assert cells.read("cases", "R1", "added")["case_id"].to_list() == ["a"]
    assert compact_run(cells, "R1") == 0


def test_separate_files_again_for_writers_of_parts(cells):
    before = cells.read("cases", "R1")
    compact_run(cells, "R1")
    cells.separate("R1")
    assert len(cells.files("cases", "R1")) == 20
    assert cells.read("cases", "R1").equals(before)
    assert cells.manifest("R1").files == {}


def test_a_run_that_a_process_writes_is_left_as_it_is(cells):
    lock = RunLock(cells, "R1")
    lock._path.parent.mkdir()
    with lock._path.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert compact_runs(cells) == 0
    assert compact_runs(cells) == 19


def test_the_old_warehouse_answers_until_a_new_one_is_built(hand_made, cell, reply_makers):
    expected, _ = reply_makers
    cells = [cell(expected("t", "passed", "failed"), model=f"simulated/m{number}") for number in range(3)]
    hand_made.land("R1", cells, state="completed")
    lake = hand_made.lake
    build(lake)
    texts = query(lake, "from staging.stg_verdicts order by all", texts_of="R1")
    rates = query(lake, "from marts.pass_rates")
    compact_run(lake, "R1")
    assert find_superseded(lake)
    assert query(lake, "from staging.stg_verdicts order by all", texts_of="R1").equals(texts)
    build(lake)
    assert find_superseded(lake) == []
    assert query(lake, "from staging.stg_verdicts order by all", texts_of="R1").equals(texts)
    assert query(lake, "from marts.pass_rates").equals(rates)
    assert {len(lake.files(table)) for table in ("cases", "responses", "verdicts")} == {1}


def test_an_ended_run_signs_its_files(cells):
    compact_run(cells, "R1")
    (path,) = cells.files("cases", "R1")
    (entry,) = cells.manifest("R1").files.values()
    assert (entry.size, entry.rows) == (path.stat().st_size, pq.read_metadata(path).num_rows)


def test_a_damaged_file_is_not_compacted(cells):
    path = cells.files("cases", "R1")[4]
    data = bytearray(path.read_bytes())
    data[40] ^= 1
    path.write_bytes(data)
    with pytest.raises(LakeDamaged, match=r"\(5 rows\)") as damage:
        compact_run(cells, "R1")
    assert str(path) in str(damage.value)
    assert len(cells.files("cases", "R1")) == 20


def test_a_manifest_with_other_contents_is_named(cells):
    compact_run(cells, "R1")
    path = cells.manifest_folder("R1") / FILE
    path.write_bytes(path.read_bytes().replace(b"0", b"1", 1))
    with pytest.raises(LakeDamaged, match="manifest of run `R1`"):
        cells.manifest("R1")


def test_every_table_can_be_compacted_without_any_row(lake):
    for table in TABLES:
        assert lake.files(table) == []
    assert compact_runs(lake) == 0
