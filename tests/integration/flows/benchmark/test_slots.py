"""Only who asks one by one waits for slots that other runs hold."""

import asyncio
import os
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import GlobalConcurrencyLimitCreate, GlobalConcurrencyLimitUpdate

from biasgrid.catalogs.loading.catalog import load_catalog
from biasgrid.flows.benchmark.flow import benchmark
from biasgrid.tasks.connectors.simulated.server.app import RunningServer, build_app
from biasgrid.warehouse.storage.lake import Lake
from support.flows import provider_at
from support.processes import await_until

pytestmark = [pytest.mark.drill, pytest.mark.usefixtures("prefect_api")]

SERIAL = count()


def judged_models(lake: Lake, run_id: str) -> set[str]:
    """The models that have verdicts."""
    cells = lake.read("cases", run_id).select("cell_id", "model").unique()
    return set(lake.read("verdicts", run_id).join(cells, on="cell_id")["model"])


@pytest.fixture
def served(overlay: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, str, str]]:
    """Three providers that no other test knows: of the second, batches are spoken."""
    monkeypatch.setenv("BIASGRID_BATCH_POLL_S", "0.05")
    batched = {"id": "batched", "description": "In batches.", "batch_s": 0.05}
    waits, batches, reused = (f"{name}{os.getpid()}-{next(SERIAL)}" for name in ("waits", "batches", "reused"))
    with RunningServer(build_app(load_catalog("shipped", overlay(respondents=(batched,))), "fair")) as running:
        one = provider_at(running.base_url)
        providers = {waits: one, batches: one | {"batch": {}}, reused: one}
        overlay({"providers": providers}, respondents=(batched,))
        yield waits, batches, reused


async def test_models_in_batches_or_answered_already_go_on_while_another_waits_for_a_slot(
    served, scenario, tmp_path
):
    waits, batches, reused = served
    free = [f"{batches}/batched", f"{reused}/fair", "simulated/fair"]
    await benchmark(scenario([f"{reused}/fair"]), data=str(tmp_path / "data"))
    async with get_client() as client:
        limit = GlobalConcurrencyLimitCreate(name=f"biasgrid:{waits}", limit=0)
        await client.create_global_concurrency_limit(limit)
        asked = scenario([f"{waits}/fair", *free])
        run = asyncio.create_task(benchmark(asked, data=str(tmp_path / "data"), reuse="all", batch=True))
        lake = Lake(tmp_path / "data")
        await await_until(lambda: len(lake.runs()) == 2 and judged_models(lake, lake.runs()[-1]) == set(free), run)
        await client.update_global_concurrency_limit(f"biasgrid:{waits}", GlobalConcurrencyLimitUpdate(limit=4))
        outcome = await run
        held = await client.read_global_concurrency_limit_by_name(f"biasgrid:{waits}")
    assert outcome.exit_code == 0
    assert judged_models(lake, outcome.run_id) == {*free, f"{waits}/fair"}
    assert held.active_slots == 0
