"""Providers that go away in a night: what is asked again, what is paid, how it ends, and the one alarm."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import orjson
import pytest
from prefect.artifacts import Artifact
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State
from prefect.states import Running

from biasgrid.flows.benchmark.flow import benchmark
from biasgrid.flows.scheduled import dispatch
from biasgrid.flows.scheduled.flow import nightly
from biasgrid.flows.scheduled.shard import shard
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import all_runs
from support.flows import provider_at
from support.machines import Endpoint
from support.prefect_server import send_pending_events
from support.processes import await_until, free_port

pytestmark = [pytest.mark.drill, pytest.mark.usefixtures("prefect_api")]
AWAY, THERE = "gateway/one", "simulated/fair"
KEYED = "openai/gpt-4o-mini"
TEMPLATES = 4


@dataclass
class Provider:
    """A respondent over HTTP that goes away, its socket with it, and comes back at the same address."""

    endpoint: Endpoint
    folder: Path

    def come(self, bias: float = 0.0) -> None:
        one = {"id": "one", "description": "Behind a gateway.", "latency_ms": 20}
        one |= {"concerns": {"sexism": {"default": bias}}}
        self.endpoint.serve([one], self.folder)

    def go(self) -> None:
        self.endpoint.running.close()

    @property
    def asked(self) -> Counter[tuple[str, str]]:
        return Counter(self.endpoint.asked)


@pytest.fixture
def provider(overlay: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    made = Provider(Endpoint(free_port()), tmp_path / "served")
    limits = {"limits": {"concurrency": 2}}
    address = f"http://127.0.0.1:{made.endpoint.port}"
    overlay({"providers": {"gateway": provider_at(address, **limits)}, "models": {}})
    monkeypatch.setenv("OPENAI_BASE_URL", f"{address}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "wrong-key")
    yield made
    made.go()


@dataclass
class Worker:
    """Runs the shards of a night, one after the other, as a worker has it done."""

    pool: Any
    states: list[tuple[str, str, str]]
    """Models, state and message of each."""

    async def work(self, data: Path, before: set[str]) -> None:
        while True:
            ids = [run.run_id for run in all_runs(Lake(data)) if run.run_id not in before]
            for run in [one for run_id in ids for one in await self.pool.handed_in(run_id)]:
                if run.state.is_scheduled():
                    await self.pool.set(run, Running())
                    ended = await shard(**run.parameters, return_state=True)
                    await self.pool.set(run, State(type=ended.type, name=ended.name, message=ended.message))
                    models = ", ".join(run.parameters["models"])
                    self.states.append((models, str(ended.name), str(ended.message)))
            await asyncio.sleep(0.2)


@dataclass
class Night:
    state: State[Any]
    run_id: str
    shards: list[tuple[str, str, str]]
    alarms: list[dict[str, Any]]


@pytest.fixture
def run_night(pool: Any, scenario: Any, tmp_path: Path) -> Any:
    """A night of some models with its alarms; `meanwhile` happens while its shards run."""

    async def run(
        models: list[str], meanwhile: Any = None, patience: str = "1s", templates: int = TEMPLATES, **options: Any
    ) -> Night:
        data = tmp_path / "data"
        before = {one.run_id for one in all_runs(Lake.open(data))}
        asked = {"data": str(data), "deployment": pool.deployment, "expectations": False, "return_state": True}
        settings = {"templates": templates, "patience": patience, "retries": 2}
        night = asyncio.create_task(nightly(scenario(models, **settings), **asked, **options))
        run_id = await _planned(data, before)
        worker = Worker(pool, [])
        tasks = [asyncio.create_task(worker.work(data, before))]
        if meanwhile:
            tasks.append(asyncio.create_task(meanwhile(worker)))
        state = await night
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return Night(state, run_id, worker.states, await _alarms(run_id))

    return run


async def _planned(data: Path, before: set[str]) -> str:
    async with asyncio.timeout(90):
        while True:
            new = [one for one in all_runs(Lake(data)) if one.run_id not in before and one.state != "planning"]
            if new:
                return new[0].run_id
            await asyncio.sleep(0.1)


async def _alarms(run_id: str) -> list[dict[str, Any]]:
    """Payloads of the alarms of a run, as the server has them once it has the end of the night."""
    await asyncio.to_thread(send_pending_events)
    await await_until(lambda: _events("biasgrid.night.", run_id), patience_s=60, every_s=0.5)
    return await _events("biasgrid.alarm.", run_id)


async def _events(prefix: str, run_id: str) -> list[dict[str, Any]]:
    async with get_client() as client:
        wanted = {"filter": {"event": {"prefix": [prefix]}}, "limit": 50}
        found = (await client.request("POST", "/events/filter", json=wanted)).json()["events"]
    return [one["payload"] for one in found if one["payload"]["run_id"] == run_id]


def replies(tmp_path: Path, run_id: str) -> Any:
    return Lake(tmp_path / "data").read("responses", run_id)


async def test_a_short_outage_is_waited_out_within_the_shard(provider, run_night, tmp_path):
    provider.come()

    async def meanwhile(_: Worker) -> None:
        await await_until(lambda: len(provider.endpoint.asked) >= 6)
        provider.go()
        await asyncio.sleep(3)
        provider.come()

    night = await run_night([AWAY], meanwhile, patience="2m")
    assert (night.state.name, [one[:2] for one in night.shards]) == ("Completed", [(AWAY, "Completed")])
    landed = replies(tmp_path, night.run_id)
    assert landed["error_class"].null_count() == landed.height == landed["case_id"].n_unique()
    again = sum(count - 1 for count in provider.asked.values())
    assert again <= 2  # in flight when it went
    assert night.alarms == []


async def test_one_that_is_away_for_longer_is_left_and_asked_again(provider, run_night, tmp_path, monkeypatch):
    monkeypatch.setattr(dispatch, "AWAY_PAUSES_S", (0.5, 1.0))

    async def meanwhile(worker: Worker) -> None:
        await await_until(lambda: [one[1] for one in worker.states].count("Away") >= 2)
        provider.come()

    night = await run_night([AWAY, THERE], meanwhile, patience="0.5s", deadline="10m")
    assert (night.state.name, night.alarms) == ("Completed", [])
    states = [state for model, state, _ in night.shards if model == AWAY]
    assert states[:2] == ["Away", "Away"]
    assert states[-1] == "Completed"
    assert [state for model, state, _ in night.shards if model == THERE] == ["Completed"]
    assert set(provider.asked.values()) == {1}
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


async def test_one_model_of_three_that_is_refused_stops_at_once_and_no_other(provider, run_night, tmp_path):
    provider.come()
    night = await run_night([KEYED, AWAY, THERE], deadline="10m")
    assert night.state.name == "Incomplete"
    states = {model: state for model, state, _ in night.shards}
    assert states == {KEYED: "Stopped", AWAY: "Completed", THERE: "Completed"}
    assert len(night.shards) == 3  # a key is not tried again
    assert sum(count for (model, _), count in provider.asked.items() if model == "gpt-4o-mini") <= 2
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
    await await_until(lambda: _events("biasgrid.alarm.", found.run_id), patience_s=60, every_s=0.5)
    (alarm,) = await _events("biasgrid.alarm.", found.run_id)
    assert (alarm["severity"], alarm["subject"]) == ("incomplete", "biasgrid incomplete: benchmark small")
    assert "KeyRejected" in alarm["body"]
    assert alarm["body"].endswith(f"biasgrid resume {found.run_id} --data {tmp_path}")


async def test_a_night_that_cannot_begin_is_one_alarm_as_broken(pool, tmp_path):
    asked = {"data": str(tmp_path), "deployment": pool.deployment, "return_state": True}
    states = [await nightly("/nowhere/mine.yaml", **asked) for _ in range(2)]
    assert [state.name for state in states] == ["Broken", "Broken"]
    found = await _alarms("")
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
