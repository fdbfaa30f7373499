"""A resumed run knows what it may still send before anything is sent."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from prefect import flow

from biasgrid.flows.benchmark.kind import BENCHMARK
from biasgrid.flows.benchmark.stages_as_flows import generate_run
from biasgrid.flows.runs.session import run_session
from biasgrid.tasks.connectors.client.run_budget import RunBudget
from biasgrid.tasks.prompt.batch.jobs import Job
from biasgrid.warehouse.storage.lake import Lake
from support.flows import provider_at

pytestmark = pytest.mark.usefixtures("prefect_api")
MODEL, CAP = "gateway/batched", 5.0


@pytest.fixture
def resumed(overlay: Any, scenario: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    """The allowance of a run that is taken up while a batch of four requests is at its provider."""
    gateway = provider_at("http://127.0.0.1:9", batch={})
    overlay({"providers": {"gateway": gateway}, "models": {MODEL: {"prices": {"input": 1.0, "output": 1.0}}}})
    asked = scenario([MODEL], batch=True, max_cost=CAP)

    async def resume(*, asks: bool) -> RunBudget | None:
        run_id = await generate_run(asked, data=str(tmp_path))
        lake, prepared = Lake(tmp_path), BENCHMARK.prepare(asked)
        keys = lake.read("cases", run_id)["request_key"].head(4).to_list()
        Job.new(run_id, prepared.resolved.targets[MODEL], keys).record(lake)

        @flow(name="resumed")
        async def resumed() -> RunBudget | None:
            async with run_session(lake, prepared, run_id, asks=asks) as grid:
                return grid.model_pool.run_budget

        return await resumed()

    return resume


async def test_batches_that_are_at_a_provider_are_counted_before_the_first_request(resumed):
    run_budget = await resumed(asks=True)
    (hold,) = run_budget.jobs.values()
    assert (run_budget.sent, hold.requests) == (4, 4)
    assert 4 * 60 / 2e6 < hold.most_usd == pytest.approx(CAP - run_budget.cost_left)
    assert run_budget.cost == 0.0


async def test_where_they_are_not_collected_no_one_waits_for_them(resumed):
    run_budget = await resumed(asks=False)
    assert await run_budget.take(CAP) is None
    assert "reserved for batches under way" in str(run_budget.reached)
