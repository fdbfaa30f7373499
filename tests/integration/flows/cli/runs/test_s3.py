"""`--data s3://…` as a person types it."""

import polars as pl
import pytest

from biasgrid.flows.operations.doctor import check_settings, check_storage
from biasgrid.flows.operations.environment import data_place
from biasgrid.flows.runs.prepare import existing_lake
from biasgrid.warehouse.build.build import build
from biasgrid.warehouse.storage.lake import Lake

WHERE = "s3://lakes/team"


def test_an_address_keeps_its_two_slashes(biasgrid, s3):
    biasgrid("runs", "--data", WHERE)
    assert any(path.startswith("/lakes?") and "prefix=team" in path for _, path in s3.requests)


def test_the_environment_may_name_it(s3, monkeypatch):
    Lake.open(WHERE).write("runs", "R1", "1", pl.DataFrame([{"run_id": "R1", "event_id": "1", "state": "failed"}]))
    monkeypatch.setenv("BIASGRID_DATA", WHERE)
    assert existing_lake(None).runs() == ["R1"]
    assert data_place("elsewhere") == "elsewhere"


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ("s3:/lakes/team", "no address"),
        ("gcs://lakes/team", "write `gs://bucket/prefix`"),
        ("s3://nowhere/team", "there is no such bucket"),
        (WHERE, "there is no data at `s3://lakes/team`"),
        ("s3://anna:swordfish@lakes/team", "is refused"),
    ],
)
def test_a_place_that_holds_no_lake_is_a_mistake(biasgrid, s3, named, expected):
    found = biasgrid("runs", "--data", named)
    assert found.is_a_mistake(expected)
    assert "swordfish" not in found.err


def test_a_run_that_cannot_begin_sends_and_leaves_nothing(biasgrid, s3, tmp_path):
    s3.knows = "somebody-else"
    assert biasgrid("run", "starter", "--data", WHERE).is_a_mistake("access is denied", "AWS_ACCESS_KEY_ID")
    assert (s3.names(), list((tmp_path / "mirrors").glob("*"))) == ([], [])


def test_doctor_states_whether_a_bucket_can_be_used(s3):
    usable = check_storage(WHERE)[1][-1]
    assert (usable.state, usable.what) == ("ok", f"{WHERE} can be listed, read and written")
    for denied, lack in (("PUT", "written"), ("HEAD", "read")):
        s3.refuses = lambda method, _, denied=denied: "403 Forbidden" if method == denied else None
        lake, (*_, unusable) = check_storage(WHERE)
        assert lake is not None
        assert (unusable.state, f"cannot be {lack}: access is denied" in unusable.what) == ("broken", True)
    s3.knows = "somebody-else"
    lake, (unlisted,) = check_storage(WHERE)
    assert lake is None
    assert (unlisted.state, "cannot be listed: access is denied" in unlisted.what) == ("broken", True)


def test_doctor_shows_no_key():
    (found,) = check_settings({"BIASGRID_DATA": "s3://anna:swordfish@lakes/team"}, None)
    assert (found.state, found.what) == ("ok", "BIASGRID_DATA is set")


def test_a_build_reports_where_the_warehouse_is_published(biasgrid, s3):
    lake = Lake.open(WHERE)
    lake.write("runs", "R1", "1", pl.DataFrame([{"run_id": "R1", "event_id": "1", "state": "failed"}]))
    assert biasgrid("warehouse", "build", "--data", WHERE).out == f"{WHERE}/biasgrid.duckdb\n"
    assert "team/biasgrid.duckdb" in s3.names()


def test_a_query_with_the_server_gone_is_one_message(biasgrid, s3, monkeypatch):
    build(Lake.open(WHERE))
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    assert biasgrid("sql", "from marts.costs", "--data", WHERE).is_a_mistake("does not answer")
