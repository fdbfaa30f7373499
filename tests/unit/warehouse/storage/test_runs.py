"""Runs as they are listed: each in its newest state."""

from dataclasses import replace

import polars as pl
import pytest

from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import all_runs, begin_run, short_ids


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


@pytest.mark.parametrize(
    ("ids", "short"),
    [
        (["01M86KN9Y5YDFSHV"], ["01M86KN9"]),
        (["01M86KN9Y5YDFSHV", "01M86M1GY5YDFSHV"], ["01M86KN9", "01M86M1G"]),
        (["01M86KN9Y5AA", "01M86KN9Y5AB", "01M86KN9Z"], ["01M86KN9Y5AA", "01M86KN9Y5AB", "01M86KN9Z"]),
        (["R1", "R2"], ["R1", "R2"]),
    ],
)
def test_a_short_id_is_that_of_one_run_alone(tmp_path, ids, short):
    run = begin_run(Lake(tmp_path), "{}", "{}", {}, 1)
    assert [*short_ids(replace(run, run_id=one) for one in ids).values()] == short
