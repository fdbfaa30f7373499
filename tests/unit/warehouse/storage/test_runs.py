"""Runs as they are listed: each in its newest state."""

import polars as pl

from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import all_runs, begin_run


def test_each_run_is_listed_once_in_its_newest_state(tmp_path):
    lake = Lake(tmp_path)
    runs = [begin_run(lake, "{}", "{}", {}, seed) for seed in range(3)]
    runs[0].record(lake, "running").record(lake, "completed")
    runs[1].record(lake, "failed")
    lake.write(
        "runs",
        runs[2].run_id,
        "by-hand",
        lake.read("runs", runs[2].run_id).with_columns(
            event_id=pl.lit("7ZZZZZZZZZZZZZZZZZZZZZZZZZ"), state=pl.lit("interrupted")
        ),
    )
    assert [run.state for run in all_runs(lake)] == ["completed", "failed", "interrupted"]
    assert [run.seed for run in all_runs(lake)] == [0, 1, 2]


def test_only_the_newest_event_of_each_run_is_read(tmp_path):
    lake = Lake(tmp_path)
    run = begin_run(lake, "{}", "{}", {}, 1)
    (first,) = lake.files("runs")
    run.record(lake, "completed")
    first.write_bytes(b"PAR1 which no reader can read PAR1")
    assert [run.state for run in all_runs(lake)] == ["completed"]
