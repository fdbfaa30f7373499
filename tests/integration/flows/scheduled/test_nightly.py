"""A night from its scenario to its state, with shards that end well or do not."""

import asyncio
import re
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from prefect.client.schemas.objects import State
from prefect.states import Running

from biasgrid.flows.benchmark.flow import benchmark
from biasgrid.flows.runs import session
from biasgrid.flows.scheduled import blocks
from biasgrid.flows.scheduled.flow import nightly
from biasgrid.flows.scheduled.shard import shard
from biasgrid.flows.scheduled.shards import part_of
from biasgrid.warehouse.build.build import connect
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import Run, all_runs

pytestmark = [pytest.mark.drill, pytest.mark.usefixtures("prefect_api")]
MODELS = ["simulated/fair", "simulated/noisy"]
HOLDING = """
import sys
from pathlib import Path
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.run_lock import RunLock

with RunLock(Lake(Path(sys.argv[1])), sys.argv[2], *sys.argv[3:]):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holding(tmp_path: Path) -> Any:
    """Another process that writes a run, or a part of it, until its standard input ends."""

    def hold(run_id: str, *part: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", HOLDING, str(tmp_path), run_id, *part],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        return process

    return hold


def run_in(folder: Path) -> Run:
    (found,) = all_runs(Lake(folder))
    return found


async def planned_run(folder: Path, before: Collection[str] = ()) -> str:
    """The id of the run, none of those `before`, as soon as its shards are due."""
    async with asyncio.timeout(90):
        while True:
            runs = [run for run in all_runs(Lake(folder)) if run.run_id not in before]
            if runs and runs[0].state != "planning":
                return runs[0].run_id
            await asyncio.sleep(0.1)


async def work(pool: Any, run_id: str, *, cancelled: str | None = None, shards: int = len(MODELS)) -> None:
    """Asks what the shards of a run are to ask, as a worker has it done, but for a model that is cancelled."""
    waiting = await pool.until(run_id, lambda runs: sum(run.state.is_scheduled() for run in runs) == shards)
    for run in waiting:
        if not run.state.is_scheduled():
            continue
        if cancelled in run.parameters["models"]:
            await pool.cancel(run)
        else:
            ended = await shard(**run.parameters, return_state=True)
            await pool.set(run, Running(), State(type=ended.type, name=ended.name, message=ended.message))


@pytest.mark.drill
async def test_a_night_whose_shard_was_cancelled_is_incomplete_and_continues_with_what_was_not_asked(
    pool, scenario, tmp_path
):
    asked = {"data": str(tmp_path), "deployment": pool.deployment, "return_state": True}
    night = asyncio.create_task(nightly(scenario(MODELS), **asked))
    run_id = await planned_run(tmp_path)
    await work(pool, run_id, cancelled="simulated/noisy")
    state: State[Any] = await night
    assert (state.name, run_in(tmp_path).state) == ("Incomplete", "interrupted")
    assert "not everything was asked: simulated/noisy (Cancelled)" in str(state.message)

    # as its deployment starts it, with what goes for new nights
    again = nightly(scenario(MODELS), models=["simulated/biased"], run_id=run_id, expectations=False, **asked)
    night = asyncio.create_task(again)
    await work(pool, run_id, shards=1)  # the one that was completed is not handed out again
    state = await night
    assert (state.name, run_in(tmp_path).state) == ("Completed", "completed"), state.message
    replies = Lake(tmp_path).read("responses", run_id)
    assert replies["case_id"].is_unique().all()
    assert sorted(replies["model"].unique()) == MODELS


async def test_a_cap_holds_over_all_shards_and_a_higher_one_lets_the_night_go_on(pool, scenario, tmp_path):
    asked = {"data": str(tmp_path), "deployment": pool.deployment, "expectations": False, "return_state": True}
    night = asyncio.create_task(nightly(scenario(MODELS, samples=2), max_requests=20, **asked))
    run_id = await planned_run(tmp_path)
    await work(pool, run_id)
    state: State[Any] = await night
    assert state.name == "OverCost", state.message
    answered = Lake(tmp_path).read("responses", run_id).filter(pl.col("text").is_not_null())
    assert answered.height == 20
    assert answered["model"].unique().sort().to_list() == MODELS

    night = asyncio.create_task(nightly(run_id=run_id, max_requests=1000, **asked))
    await work(pool, run_id)
    state = await night
    assert state.name == "Completed", state.message
    answered = Lake(tmp_path).read("responses", run_id).filter(pl.col("text").is_not_null())
    assert sorted(answered["case_id"]) == sorted(Lake(tmp_path).read("cases", run_id)["case_id"])


async def test_a_night_that_may_reuse_replies_asks_nothing_that_has_been_answered(pool, scenario, tmp_path):
    asked = {"data": str(tmp_path), "deployment": pool.deployment, "expectations": False, "return_state": True}
    for reuse in ("run", "all"):
        before = {run.run_id for run in all_runs(Lake(tmp_path))}
        night = asyncio.create_task(nightly(scenario(MODELS), reuse=reuse, **asked))
        run_id = await planned_run(tmp_path, before)
        await work(pool, run_id)
        state: State[Any] = await night
        assert state.name == "Completed", state.message
    replies = Lake(tmp_path).read("responses", run_id)
    assert replies["reused_from"].null_count() == 0
    assert replies["case_id"].is_unique().all()


async def test_a_night_that_goes_on_while_an_earlier_ones_shards_ask_lets_them(pool, scenario, tmp_path, holding):
    asked = {"data": str(tmp_path), "deployment": pool.deployment, "expectations": False, "return_state": True}
    killed = asyncio.create_task(nightly(scenario(MODELS), **asked))
    run_id = await planned_run(tmp_path)
    await pool.until(run_id, lambda runs: len(runs) == len(MODELS))
    killed.cancel()
    await asyncio.gather(killed, return_exceptions=True)

    asking = holding(run_id, "of another process")
    night = asyncio.create_task(nightly(run_id=run_id, **asked))
    await work(pool, run_id)
    state: State[Any] = await night
    asking.communicate("")
    assert state.name == "Completed", state.message


async def test_a_shard_that_another_process_still_asks_is_waited_for(
    pool, scenario, tmp_path, holding, monkeypatch
):
    monkeypatch.setattr(session, "TURN_S", 0.2)
    asked = {"data": str(tmp_path), "deployment": pool.deployment, "expectations": False, "return_state": True}
    night = asyncio.create_task(nightly(scenario(MODELS[:1]), **asked))
    run_id = await planned_run(tmp_path)
    (only,) = await pool.until(run_id, bool)
    asking = holding(run_id, part_of(MODELS[:1]))
    follower = asyncio.create_task(shard(**only.parameters))
    await asyncio.sleep(1.5)
    assert not follower.done()
    asking.communicate("")
    await follower
    await pool.complete(only)
    assert (await night).name == "Completed"


RUNS_OWN = re.compile(r".*(run_id|_at|hash|seconds|latency.*|versions|response_id|evaluation_id|cost_of_run)")
"""Columns that two runs of the same scenario do not share."""


def read_marts(folder: Path) -> dict[str, list[str]]:
    """The rows of all marts as texts, in order, without what names a run or a time."""
    with connect(Lake(folder)) as warehouse:
        named = "select table_name, column_name from duckdb_columns() where schema_name = 'marts' order by all"
        columns: dict[str, list[str]] = {}
        for table, column in warehouse.execute(named).fetchall():
            columns.setdefault(table, []).extend([] if RUNS_OWN.fullmatch(column) else [column])
        return {
            table: sorted(map(repr, warehouse.execute(f"select {', '.join(own)} from marts.{table}").fetchall()))
            for table, own in columns.items()
            if own
        }


async def test_blocks_of_a_model_find_what_one_process_finds(pool, scenario, tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "PER_SECOND", 0.05)  # as if there were hours to ask
    split, whole = tmp_path / "split", tmp_path / "whole"
    given = scenario(MODELS, templates=6, samples=2)
    night = asyncio.create_task(
        nightly(given, data=str(split), deployment=pool.deployment, expectations=False, return_state=True)
    )
    run_id = await planned_run(split)
    handed = await pool.until(run_id, lambda runs: len(runs) > len(MODELS))
    await asyncio.sleep(2)
    handed = await pool.handed_in(run_id)
    assert all(run.parameters["cells"] for run in handed)
    await work(pool, run_id, shards=len(handed))
    assert (await night).name == "Completed"
    await benchmark(given, data=str(whole), expectations=False)
    found, expected = read_marts(split), read_marts(whole)
    assert found["requirement_findings"]
    for table in expected:
        assert found[table] == expected[table], table
