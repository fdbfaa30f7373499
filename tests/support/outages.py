"""Nights of models behind a provider that goes away, comes back, is slow or refuses, with their alarms."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State
from prefect.states import Running

from biasgrid.flows.scheduled.flow import nightly
from biasgrid.flows.scheduled.shard import shard
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import all_runs
from support.flows import provider_at
from support.machines import Endpoint
from support.prefect_server import send_pending_events
from support.processes import await_until, free_port

AWAY, NEXT, THERE = "gateway/one", "gateway/two", "simulated/fair"
KEYED = "openai/gpt-4o-mini"
TEMPLATES = 4


@dataclass
class Provider:
    """A respondent over HTTP that goes away, its socket with it, and comes back at the same address."""

    endpoint: Endpoint
    folder: Path

    def come(self, bias: float = 0.0, **otherwise: Any) -> None:
        """`otherwise`: other properties of its respondents."""
        one = {"id": "one", "description": "Behind a gateway.", "latency_ms": 20, **otherwise}
        one |= {"concerns": {"sexism": {"default": bias}}}
        self.endpoint.serve([one, {**one, "id": "two"}], self.folder)

    def go(self) -> None:
        self.endpoint.running.close()

    @property
    def requests(self) -> Counter[tuple[str, str]]:
        return Counter(self.endpoint.asked)

    @property
    def outcomes(self) -> Counter[str]:
        """How it ended its requests: `answered` are those that it charges."""
        lines = (self.folder / "requests.jsonl").read_bytes().splitlines()
        return Counter(orjson.loads(line)["outcome"] for line in lines)


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
    """A night of some models with its alarms; `meanwhile` happens while its shards run. Nights of one `name` have
    their alarms in common."""

    async def run(
        models: list[str], meanwhile: Any = None, patience: str = "1s", templates: int = TEMPLATES, **options: Any
    ) -> Night:
        data = tmp_path / "data"
        before = {one.run_id for one in all_runs(Lake.open(data))}
        asked = {"data": str(data), "deployment": pool.deployment, "expectations": False, "return_state": True}
        settings = {"templates": templates, "patience": patience, "retries": 2}
        named = scenario(models, **settings) | {"name": options.pop("name", "small")}
        night = asyncio.create_task(nightly(named, **asked, **options))
        run_id = await _planned(data, before)
        worker = Worker(pool, [])
        tasks = [asyncio.create_task(worker.work(data, before))]
        if meanwhile:
            tasks.append(asyncio.create_task(meanwhile(worker)))
        state = await night
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return Night(state, run_id, worker.states, await read_alarms(run_id))

    return run


async def _planned(data: Path, before: set[str]) -> str:
    async with asyncio.timeout(90):
        while True:
            new = [one for one in all_runs(Lake(data)) if one.run_id not in before and one.state != "planning"]
            if new:
                return new[0].run_id
            await asyncio.sleep(0.1)


async def read_alarms(run_id: str) -> list[dict[str, Any]]:
    """Payloads of the alarms of a run, as the server has them once it has the end of the night."""
    await asyncio.to_thread(send_pending_events)
    await await_until(lambda: read_events("biasgrid.night.", run_id), every_s=0.5)
    return await read_events("biasgrid.alarm.", run_id)


async def read_events(prefix: str, run_id: str) -> list[dict[str, Any]]:
    async with get_client() as client:
        wanted = {"filter": {"event": {"prefix": [prefix]}}, "limit": 50}
        found = (await client.request("POST", "/events/filter", json=wanted)).json()["events"]
    return [one["payload"] for one in found if one["payload"]["run_id"] == run_id]
