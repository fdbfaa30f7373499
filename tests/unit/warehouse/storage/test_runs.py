"""Runs are found by the beginning or the end of their ids; a message offers what is spelt nearly so."""

import time
from pathlib import Path

import polars as pl
import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.warehouse.event_ids import EventIds
from biasgrid.warehouse.storage import runs
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import all_runs, begin_run, find_run

OLDER, NEWER = "01M8BR6RSX9BXZJTX905MD6KTA", "01M8BSKKT86SG51N35K455FP9M"


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = Lake.open(tmp_path_factory.mktemp("runs"))
    for run_id in (OLDER, NEWER):
        row = {"run_id": run_id, "event_id": "1", "state": "completed", "kind": "benchmark"}
        lake.write("runs", run_id, "1", pl.DataFrame([row]))
    return lake


@pytest.mark.parametrize("named", [OLDER, "01M8BR", "905md6kta"])
def test_a_run_is_named_by_an_end_of_its_id(lake, named):
    assert find_run(lake, named).run_id == OLDER


@pytest.mark.parametrize(
    ("named", "remedy"),
    [
        ("01M8BSKX", f"did you mean `{NEWER}`"),
        ("6KTB", f"did you mean `{OLDER}`"),
        ("01M8B", f"name more of it, as `biasgrid runs` lists them: `{OLDER}`, `{NEWER}`"),
    ],
)
def test_a_run_that_there_is_not_is_answered_with_the_one_meant(lake: Lake, named: str, remedy: str):
    with pytest.raises(UserError) as caught:
        find_run(lake, named)
    assert remedy in str(caught.value)


def test_where_nothing_has_run_yet_the_message_names_the_command(tmp_path: Path):
    with pytest.raises(UserError, match="biasgrid run"):
        find_run(Lake.open(tmp_path), None)


def test_a_clock_that_is_set_back_changes_no_order(tmp_path, monkeypatch):
    lake, now_ns = Lake.open(tmp_path), time.time_ns

    def restart(hours: int) -> None:
        """Another process, at a time that is hours off."""
        monkeypatch.setattr(time, "time_ns", lambda: now_ns() + hours * 3600 * 10**9)
        monkeypatch.setattr(runs, "EVENT_IDS", EventIds())

    restart(0)
    first = begin_run(lake, "{}", "{}", {}, 7)
    first.record(lake, "running")
    restart(-1)
    find_run(lake, first.run_id).record(lake, "completed")
    assert find_run(lake, None, ("completed",)).run_id == first.run_id
    restart(-2)
    second = begin_run(lake, "{}", "{}", {}, 7)
    assert [run.run_id for run in all_runs(lake)] == [first.run_id, second.run_id]


def test_an_id_of_the_far_future_moves_no_others():
    ids = EventIds()
    ids.note(["01ZZZZZZZZZZZZZZZZZZZZZZZZ", "run-1"])
    assert ids.make() < "01Z"
