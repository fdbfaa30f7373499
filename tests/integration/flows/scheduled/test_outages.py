"""Providers that go away in a night: what is asked again, what is paid, how it ends, and the one alarm."""

import asyncio
import os
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

import orjson
import pytest
from prefect.artifacts import Artifact

from biasgrid.flows.benchmark.flow import benchmark
from biasgrid.flows.scheduled import dispatch
from biasgrid.flows.scheduled.flow import nightly
from biasgrid.warehouse.event_ids import EventIds
from biasgrid.warehouse.storage import runs
from biasgrid.warehouse.storage.lake import Lake
from support.outages import AWAY, KEYED, NEXT, TEMPLATES, THERE, Worker, read_alarms, read_events
from support.prefect_server import send_pending_events
from support.processes import await_until

pytestmark = [pytest.mark.drill, pytest.mark.usefixtures("prefect_api")]


REAL = os.environ.get("BIASGRID_DRILL_OUTAGES") == "real"
"""Whether outages last as long as people count them, with a night's own pauses, instead of seconds."""
SHORT_S, LONG_S = (30.0, 600.0) if REAL else (3.0, 0.0)
PATIENCE = "2m" if REAL else "0.5s"


def replies(tmp_path: Path, run_id: str) -> Any:
    return Lake(tmp_path / "data").read("responses", run_id)


async def test_a_short_outage_is_waited_out_within_the_shard(provider, run_night, tmp_path):
    provider.come()

    async def meanwhile(_: Worker) -> None:
        await await_until(lambda: len(provider.endpoint.asked) >= 6)
        provider.go()
        await asyncio.sleep(SHORT_S)
        provider.come()

    night = await run_night([AWAY], meanwhile, patience="2m")
    assert (night.state.name, [one[:2] for one in night.shards]) == ("Completed", [(AWAY, "Completed")])
    landed = replies(tmp_path, night.run_id)
    assert landed["error_class"].null_count() == landed.height == landed["case_id"].n_unique()
    again = sum(count - 1 for count in provider.requests.values())
    assert again <= 2  # in flight when it went
    assert provider.outcomes["answered"] <= landed.height + again
    assert night.alarms == []


async def test_one_that_is_away_for_longer_is_left_and_asked_again(provider, run_night, tmp_path, monkeypatch):
    if not REAL:
        monkeypatch.setattr(dispatch, "AWAY_PAUSES_S", (0.5, 1.0))
    begun = time.monotonic()

    async def meanwhile(worker: Worker) -> None:
        away = lambda: [one[1] for one in worker.states].count("Away") >= 2  # noqa: E731
        await await_until(lambda: away() and time.monotonic() - begun > LONG_S, patience_s=LONG_S + 120)
        provider.come()

    night = await run_night([AWAY, THERE], meanwhile, patience=PATIENCE, deadline="1h")
    assert (night.state.name, night.alarms) == ("Completed", [])
    states = [state for model, state, _ in night.shards if model == AWAY]
    assert states[:2] == ["Away", "Away"]
    assert states[-1] == "Completed"
    assert [state for model, state, _ in night.shards if model == THERE] == ["Completed"]
    assert set(provider.requests.values()) == {1}
    assert provider.outcomes == {"answered": len(provider.requests)}
    answered = replies(tmp_path, night.run_id).drop_nulls("text")
    assert answered["case_id"].n_unique() == answered.height
    _, _, message = night.shards[0] if night.shards[0][0] == AWAY else night.shards[1]
    assert f"{AWAY}: away × " in message
    assert f"biasgrid resume {night.run_id}" in message


async def test_one_that_is_away_all_night_is_one_alarm_with_model_class_since_and_command(
    provider, run_night, tmp_path, monkeypatch
):
    monkeypatch.setattr(dispatch, "AWAY_PAUSES_S", (0.5,))
    night = await run_night([AWAY, THERE], patience="0.3s", deadline="5s")
    assert night.state.name == "Incomplete"
    assert f"{AWAY}: away × " in str(night.state.message)
    assert f"resume with: biasgrid resume {night.run_id} --data" in str(night.state.message)
    (alarm,) = night.alarms
    assert alarm["subject"].startswith(f"biasgrid incomplete: small: {AWAY} away × ")
    assert f"scenario small, run {night.run_id}, models: {AWAY}, {THERE}" in alarm["body"]
    assert " UTC (the connection broke (ClientConnectorError); is it reachable?)" in alarm["body"]
    assert f"biasgrid resume {night.run_id} --data {tmp_path / 'data'}" in alarm["body"]
    summary = await Artifact.aget("summary-small")
    assert "## Without a reply" in str(summary.data)
    assert replies(tmp_path, night.run_id).filter(model=AWAY)["cost_usd"].null_count() > 0

    again = await run_night([AWAY, THERE], patience="0.3s", deadline="0s")
    assert (again.state.name, again.alarms) == ("Incomplete", [])  # one cause, one alarm
    provider.come()
    well = await run_night([AWAY, THERE])
    assert well.state.name == "Completed"
    (recovery,) = well.alarms
    assert recovery["subject"].startswith(f"biasgrid better again: small: {AWAY} away")


async def test_one_that_comes_back_slow_and_throttled_answers_each_prompt_once(
    provider, run_night, tmp_path, monkeypatch
):
    monkeypatch.setattr(dispatch, "AWAY_PAUSES_S", (0.5,))

    async def meanwhile(worker: Worker) -> None:
        await await_until(lambda: "Away" in [state for _, state, _ in worker.states])
        provider.come(latency_ms=1500, limits={"requests_per_minute": 60, "burst_s": 2})
        await await_until(lambda: provider.outcomes["answered"] >= 6)
        provider.come(latency_ms=500, limits={"requests_per_minute": 240, "burst_s": 1})
        await await_until(lambda: provider.outcomes["answered"] >= 12)
        provider.come()

    night = await run_night([AWAY], meanwhile, patience="1s", deadline="10m")
    assert (night.state.name, night.alarms) == ("Completed", [])
    landed = replies(tmp_path, night.run_id)
    answered = landed.drop_nulls("text")
    assert answered["case_id"].n_unique() == answered.height == len(provider.requests)
    again = sum(count - 1 for count in provider.requests.values())
    assert provider.outcomes["answered"] <= answered.height + 2 * 2  # in flight at each change
    assert again <= provider.outcomes["throttled"] + 2 * 2


@pytest.mark.parametrize(
    ("status", "word"), [(401, "key rejected"), (403, "key rejected"), (404, "unknown model")]
)
async def test_one_model_of_three_that_its_provider_refuses_stops_at_once_and_no_other(
    provider, run_night, tmp_path, status, word
):
    provider.endpoint.refused["two"] = status
    provider.come()
    night = await run_night([AWAY, NEXT, THERE], deadline="10m", name=f"refused-{status}")
    assert night.state.name == "Incomplete"
    states = {model: state for model, state, _ in night.shards}
    assert states == {AWAY: "Completed", NEXT: "Stopped", THERE: "Completed"}
    assert len(night.shards) == 3  # what is refused is not tried again
    assert (
        sum(count for (model, _), count in provider.requests.items() if model == "two") <= 2
    )  # as many as at once
    (alarm,) = night.alarms
    assert alarm["subject"].startswith(f"biasgrid incomplete: refused-{status}: {NEXT} {word} × ")
    assert f"biasgrid resume {night.run_id} --data {tmp_path / 'data'}" in alarm["body"]
    assert provider.outcomes == {"answered": replies(tmp_path, night.run_id).filter(model=AWAY).height}


async def test_a_wrong_key_is_named_in_no_alarm(provider, run_night):
    provider.come()
    night = await run_night([KEYED, THERE], deadline="10m")
    assert {model: state for model, state, _ in night.shards} == {KEYED: "Stopped", THERE: "Completed"}
    (alarm,) = night.alarms
    assert alarm["subject"].startswith(f"biasgrid incomplete: small: {KEYED} key rejected × ")
    assert "wrong-key" not in orjson.dumps(alarm).decode()


async def test_a_run_on_demand_without_all_replies_is_one_alarm_with_the_command_that_continues(
    provider, scenario, tmp_path, monkeypatch
):
    provider.come()
    monkeypatch.setenv("PREFECT__RUNTIME__DEPLOYMENT__ID", str(uuid4()))
    found = await benchmark(scenario([KEYED, THERE], templates=TEMPLATES), data=str(tmp_path), expectations=False)
    await asyncio.to_thread(send_pending_events)
    await await_until(lambda: read_events("biasgrid.alarm.", found.run_id), every_s=0.5)
    (alarm,) = await read_events("biasgrid.alarm.", found.run_id)
    assert (alarm["severity"], alarm["subject"]) == ("incomplete", "biasgrid incomplete: benchmark small")
    assert "KeyRejected" in alarm["body"]
    assert alarm["body"].endswith(f"biasgrid resume {found.run_id} --data {tmp_path}")


async def test_a_night_that_cannot_begin_is_one_alarm_as_broken(pool, tmp_path):
    asked = {"data": str(tmp_path), "deployment": pool.deployment, "return_state": True}
    states = [await nightly("/nowhere/mine.yaml", **asked) for _ in range(2)]
    assert [state.name for state in states] == ["Broken", "Broken"]
    found = await read_alarms("")
    (alarm,) = [one for one in found if "mine" in one["subject"]]
    assert alarm["subject"].startswith("biasgrid broken: mine: UserError: ")


@pytest.mark.parametrize("lasts", [True, False])
async def test_what_became_worse_is_asked_again_and_alarms_only_if_it_is_worse_again(
    provider, run_night, tmp_path, lasts
):
    provider.come()
    before = await run_night([AWAY, THERE], templates=24)
    assert before.state.name == "Completed"
    provider.come(bias=0.9)

    async def meanwhile(worker: Worker) -> None:
        await await_until(lambda: len(worker.states) == 2)
        if not lasts:
            provider.come()

    night = await run_night([AWAY, THERE], meanwhile, templates=24)
    assert [model for model, _, _ in night.shards].count(AWAY) == 2
    assert [model for model, _, _ in night.shards].count(THERE) == 1
    if not lasts:
        assert (night.state.name, night.alarms) == ("Completed", [])
        assert f"not confirmed when asked again: `genders-alike` of {AWAY} passes" in str(night.state.message)
        return
    assert night.state.name == "Regression"
    (alarm,) = night.alarms
    assert alarm["subject"] == f"biasgrid worse: small: genders-alike of {AWAY}"
    assert "asked again, it passes" in alarm["body"]
    assert f"biasgrid compare {before.run_id} {night.run_id} --data {tmp_path / 'data'}" in alarm["body"]
    assert THERE not in alarm["body"].partition("worse")[2]


async def test_a_clock_set_back_by_an_hour_between_two_nights_changes_neither_their_order_nor_the_alarm(
    provider, run_night, tmp_path, monkeypatch
):
    provider.come()
    before = await run_night([AWAY], templates=24, name="clock")
    now_ns = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: now_ns() - 3600 * 10**9)
    monkeypatch.setattr(runs, "EVENT_IDS", EventIds())  # as another process makes them
    provider.come(bias=0.9)
    night = await run_night([AWAY], templates=24, name="clock")
    assert night.state.name == "Regression"
    assert night.run_id > before.run_id
    (alarm,) = night.alarms
    assert alarm["subject"] == f"biasgrid worse: clock: genders-alike of {AWAY}"
    assert f"biasgrid compare {before.run_id} {night.run_id} --data {tmp_path / 'data'}" in alarm["body"]
