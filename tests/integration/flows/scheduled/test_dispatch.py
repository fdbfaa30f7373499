"""Shards on their way through a work pool: waited for, followed by others, adopted, or given up."""

import asyncio
import logging
from typing import Any

import pytest
from prefect import flow
from prefect.states import Crashed, Pending, Running

from biasgrid.catalogs.errors import UserError
from biasgrid.flows.scheduled import dispatch
from biasgrid.flows.scheduled.dispatch import Lost, Round, hand_out, refuse_unknown
from biasgrid.flows.scheduled.shards import Shard

pytestmark = [pytest.mark.drill, pytest.mark.usefixtures("prefect_api")]
ONE, OTHER = Shard(("a/x",), 10), Shard(("a/y",), 5)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "PAUSES_S", (0.0,))


@flow(name="handing out", persist_result=False)
async def handing(shards: list[Any], night: Any) -> Any:
    return await hand_out(shards, night)


def begin_night(pool: Any, run_id: str, *shards: Shard, **given: Any) -> asyncio.Task[list[Lost]]:
    night = Round(run_id, None, pool.deployment, poll_s=0.1, **given)
    return asyncio.create_task(handing([*shards], night))


async def test_a_shard_whose_machine_is_lost_is_handed_out_again(pool):
    night = begin_night(pool, "R1", ONE, OTHER)
    first, second = await pool.until("R1", lambda runs: len(runs) == 2)
    await pool.complete(second)
    await pool.set(first, Running(), Crashed(message="no heartbeat"))
    *_, third = await pool.until("R1", lambda runs: len(runs) == 3)
    assert third.parameters == first.parameters
    await pool.complete(third)
    assert await night == []


async def test_a_shard_that_no_process_has_begun_is_handed_out_again_and_no_takeover_is_spent(pool):
    night = begin_night(pool, "R9", ONE, takeovers=0, begin_s=0.5)
    (first,) = await pool.until("R9", bool)
    await pool.set(first, Pending(name="Submitting"))
    first, second = await pool.until("R9", lambda runs: len(runs) == 2)
    assert first.state_name == "Unbegun"
    assert second.parameters == first.parameters
    await pool.complete(second)
    assert await night == []


async def test_a_shard_that_someone_cancels_is_not_handed_out_again(pool):
    night = begin_night(pool, "R2", ONE)
    (only,) = await pool.until("R2", bool)
    await pool.cancel(only)
    assert [(lost.shard, lost.why) for lost in await night] == [(ONE, "Cancelled")]
    assert len(await pool.handed_in("R2")) == 1


async def test_a_shard_that_someone_deletes_is_not_handed_out_again(pool):
    night = begin_night(pool, "R3", ONE)
    (only,) = await pool.until("R3", bool)
    await pool.client.delete_flow_run(only.id)
    assert [lost.why for lost in await night] == ["Cancelled: the flow run was deleted"]


async def test_a_night_that_goes_on_waits_for_the_shards_of_the_one_before(pool):
    await _abandon(pool, "R4", ONE)
    night = begin_night(pool, "R4", ONE)
    (only,) = await pool.handed_in("R4")
    await asyncio.sleep(0.5)
    await pool.complete(only)
    assert await night == []
    assert len(await pool.handed_in("R4")) == 1


@pytest.mark.parametrize(("run_id", "cap"), [("R5", 9.0), ("R6", None)])
async def test_one_that_was_given_another_cap_is_followed(pool, run_id, cap):
    await _abandon(pool, run_id, Shard(("a/x",), 10, max_cost=5.0))
    night = begin_night(pool, run_id, Shard(("a/x",), 10, max_cost=cap))
    *_, second = await pool.until(run_id, lambda runs: len(runs) == 2)
    assert second.parameters["max_cost"] == cap
    await pool.complete(second)
    assert await night == []


async def test_a_night_that_is_cancelled_cancels_its_shards(pool):
    night = begin_night(pool, "R7", ONE, OTHER)
    first, _ = await pool.until("R7", lambda runs: len(runs) == 2)
    await pool.set(first, Running())
    night.cancel()
    await asyncio.gather(night, return_exceptions=True)
    states = sorted(run.state_name for run in await pool.handed_in("R7"))
    assert states == ["Cancelled", "Cancelling"]


async def test_that_no_worker_takes_shards_is_reported(pool, caplog):
    with caplog.at_level(logging.WARNING):
        night = begin_night(pool, "R8", ONE)
        (only,) = await pool.until("R8", bool)
        await pool.complete(only)
        await night
    assert (
        "no worker takes shards from the work pool `nobodys`: `prefect worker start --pool nobodys`" in caplog.text
    )


async def test_a_deployment_that_is_not_there_is_a_mistake():
    with pytest.raises(UserError, match="there is no deployment `shard/elsewhere`"):
        await refuse_unknown("shard/elsewhere")
    with pytest.raises(UserError, match="there is no deployment `shard`"):
        await refuse_unknown("shard")


async def _abandon(pool: Any, run_id: str, shard: Shard) -> None:
    """A shard that runs, and whose night was killed: it has not reported."""
    await dispatch.arun_deployment(
        pool.deployment,
        parameters={"run_id": run_id, "models": [*shard.models], "data": None}
        | {"max_cost": shard.max_cost, "max_requests": shard.max_requests},
        flow_run_name="shard",
        tags=dispatch.run_tags(run_id, shard.part),
        client=pool.client,
        timeout=0,
    )
    (only,) = await pool.handed_in(run_id)
    await pool.set(only, Running())
