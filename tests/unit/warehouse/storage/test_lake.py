import os
from datetime import UTC, datetime
from decimal import Decimal

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.tasks.generate.stored_plans import has_plan, plan_path, read_plan, write_plan
from biasgrid.warehouse.schema_check import SchemaMismatch, polars_schema
from biasgrid.warehouse.schemas import TABLES
from biasgrid.warehouse.storage.lake import Lake, UnsafeName, newest

CASE = {
    "run_id": "R1",
    "case_id": "c1",
    "cell_id": "x",
    "template_id": "t",
    "instance_id": "i",
    "sample": 1,
    "request_key": "k",
}


def test_what_is_written_is_read_again_with_the_declared_columns(lake):
    rows = pl.DataFrame(
        [CASE | {"communities": ["men", "women"], "messages": [{"role": "user", "content": "¿?"}]}]
    )
    lake.write("cases", "R1", "cell", rows)
    landed = lake.read("cases")
    assert landed.schema == polars_schema("cases")
    assert landed["communities"].to_list() == [["men", "women"]]
    assert landed["messages"].to_list() == [[{"role": "user", "content": "¿?"}]]
    assert landed["oracle"].to_list() == [None]


@pytest.mark.parametrize("table", TABLES)
def test_a_table_in_which_nothing_landed_is_empty_and_has_its_schema(lake, table):
    assert lake.read(table).schema == polars_schema(table)
    assert lake.read(table, "R1").height == 0


def test_reading_can_be_narrowed_to_a_run_and_a_name(lake):
    for run_id, name in (("R1", "a-1"), ("R1", "b-1"), ("R2", "a-1")):
        lake.write("cases", run_id, name, pl.DataFrame([CASE | {"run_id": run_id, "cell_id": name}]))
    assert lake.read("cases").height == 3
    assert lake.read("cases", "R1").height == 2
    assert lake.read("cases", "R1", "a-*")["cell_id"].to_list() == ["a-1"]


def test_the_same_name_replaces_what_it_held(lake):
    for sample in (1, 2):
        lake.write("cases", "R1", "cell", pl.DataFrame([CASE | {"sample": sample}]))
    assert lake.read("cases")["sample"].to_list() == [2]
    assert [path.name for path in lake.folder("cases", "R1").iterdir()] == ["cell.parquet"]


def test_a_file_older_than_a_column_reads_as_null_there(lake):
    folder = lake.folder("cases", "R1")
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"run_id": ["R1"], "case_id": ["old"], "retired": [1]}), folder / "old.parquet")
    lake.write("cases", "R1", "new", pl.DataFrame([CASE]))
    assert sorted(lake.read("cases").select("case_id", "template_id").rows()) == [("c1", "t"), ("old", None)]


@pytest.mark.parametrize(
    ("table", "change", "named"),
    [
        ("cases", {"tempalte": "x"}, "`cases` has no column `tempalte`"),
        ("cases", {"sample": "first"}, "`cases.sample` is int64"),
        ("cases", {"sample": 1.5}, "`cases.sample` is int64"),
        ("cases", {"communities": "men"}, "`cases.communities` is list"),
        ("cases", {"request_key": None}, "`cases.request_key` is null in 1 of 1 rows"),
        ("cases", {"run_id": "R2"}, "`cases.run_id` holds `R2` in rows written for run `R1`"),
    ],
)
def test_rows_that_do_not_fit_are_refused_by_table_and_column(lake, table, change, named):
    with pytest.raises(SchemaMismatch) as caught:
        lake.write(table, "R1", "cell", pl.DataFrame([CASE | change]))
    assert named in str(caught.value)
    assert lake.files(table) == []


def test_times_without_a_zone_are_refused(lake):
    naive = pl.DataFrame([{"run_id": "R1", "event_id": "1", "started_at": datetime(2026, 1, 1)}])  # noqa: DTZ001
    with pytest.raises(SchemaMismatch, match=r"runs\.started_at"):
        lake.write("runs", "R1", "1", naive)


def test_numbers_keep_their_digits_or_are_refused(lake):
    verdict = {
        "run_id": "R1",
        "verdict_id": "v",
        "evaluation_id": "e",
        "level": "instance",
        "cell_id": "x",
        "template_id": "t",
        "sample": 1,
    }
    lake.write("verdicts", "R1", "good", pl.DataFrame([verdict | {"parsed_value": Decimal("12.345678")}]))
    assert lake.read("verdicts")["parsed_value"].to_list() == [Decimal("12.345678")]
    with pytest.raises(SchemaMismatch, match=r"verdicts\.parsed_value"):
        lake.write("verdicts", "R1", "bad", pl.DataFrame([verdict | {"parsed_value": Decimal("0.1234567")}]))


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".hidden", "x\0", "-rf", "a" * 201, "run id", "…"])
def test_names_cannot_leave_their_folder(lake, name):
    rows = pl.DataFrame([CASE | {"run_id": name}])
    with pytest.raises(UnsafeName):
        lake.write("cases", name, "cell", rows)
    with pytest.raises(UnsafeName):
        lake.write("cases", "R1", name, pl.DataFrame([CASE]))
    with pytest.raises(UnsafeName):
        plan_path(lake, name)


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(lake):
    write_plan(lake, "p", pl.DataFrame({"a": [1]}))
    with pytest.raises(pl.exceptions.ComputeError):
        write_plan(lake, "p", pl.DataFrame({"a": [object()]}, schema={"a": pl.Object}))
    assert read_plan(lake, "p")["a"].to_list() == [1]
    assert [path.name for path in plan_path(lake, "p").parent.iterdir()] == ["p.parquet"]


def test_plans_are_kept_under_their_hash_with_columns_of_their_own(lake):
    plan = pl.DataFrame({"choice": [1, 2], "communities": [["a"], []]}, schema_overrides={"choice": pl.UInt32})
    assert not has_plan(lake, "abc")
    write_plan(lake, "abc", plan)
    assert has_plan(lake, "abc")
    assert read_plan(lake, "abc").equals(plan)


def test_a_plan_that_is_damaged_or_another_one_is_not_there(lake):
    write_plan(lake, "other", pl.DataFrame({"text": ["Something else?"]}))
    write_plan(lake, "p", plan := pl.DataFrame({"text": [f"Are {number} people bad?" for number in range(50)]}))
    path = plan_path(lake, "p")
    whole = path.read_bytes()
    path.write_bytes(plan_path(lake, "other").read_bytes())
    assert not has_plan(lake, "p")
    for place in range(len(whole)):  # some flips change nothing that is read, such as the writer's name
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :])
        assert not has_plan(lake, "p") or read_plan(lake, "p").equals(plan), place
    for cut in range(0, len(whole), 97):
        path.write_bytes(whole[:cut])
        assert not has_plan(lake, "p")


def test_the_newest_event_of_each_key_counts(lake):
    for event_id, state in (("2", "completed"), ("1", "running")):
        row = {"run_id": "R1", "event_id": event_id, "state": state, "started_at": datetime.now(UTC)}
        lake.write("runs", "R1", event_id, pl.DataFrame([row]))
    assert lake.newest("runs")["state"].to_list() == ["completed"]
    cells = pl.DataFrame({"cell_id": ["a", "b", "a"], "event_id": ["1", "1", "3"], "planned": [1, 2, 3]})
    assert sorted(newest(cells, ["cell_id"]).select("cell_id", "planned").rows()) == [("a", 3), ("b", 2)]


def test_runs_are_listed_oldest_first(lake):
    assert lake.runs() == []
    for run_id in ("R2", "R1"):
        lake.write("runs", run_id, "1", pl.DataFrame([{"run_id": run_id, "event_id": "1"}]))
    assert lake.runs() == ["R1", "R2"]


def test_odd_characters_in_the_root_are_only_characters(tmp_path):
    lake = Lake.open(tmp_path / "it's [a] *b #1 100%20 añó")
    lake.write("cases", "R1", "cell", pl.DataFrame([CASE]))
    assert lake.read("cases").height == 1


@pytest.mark.parametrize("name", ["why?", "back\\slash"])
def test_a_root_in_which_no_warehouse_can_be_written_is_refused(tmp_path, name):
    with pytest.raises(UserError, match="with which DuckDB cannot open files"):
        Lake.open(tmp_path / name / "data")
    assert list(tmp_path.iterdir()) == []


def test_opening_names_the_remedy_for_a_directory_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("in the way")
    for root in (tmp_path / "file", tmp_path / "file" / "deeper" / "data"):
        with pytest.raises(UserError) as caught:
            Lake.open(root)
        message = str(caught.value)
        assert str(root) in message
        assert "BIASGRID_DATA" in message
        assert "--data" in message
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind root")
def test_opening_a_read_only_directory_leaves_nothing_behind(tmp_path):
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    with pytest.raises(UserError, match="cannot be written"):
        Lake.open(locked / "data")
    assert list(locked.iterdir()) == []
