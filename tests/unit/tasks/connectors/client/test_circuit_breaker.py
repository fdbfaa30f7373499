"""A model that fails again and again is asked no more, and the reason is reported."""

from __future__ import annotations

import asyncio

import pytest

from biasgrid.catalogs.schema.models import Limits
from biasgrid.tasks.connectors.api import KeptFailing, RequestRejected, ServerFault
from biasgrid.tasks.connectors.client.rate_limit import Limiter
from biasgrid.tasks.connectors.client.sender import Sender


@pytest.fixture
def answers(target, quick, ask):
    """What becomes of so many requests to one model, one after the other."""

    async def run(connector, count, retries=0, concurrency=16):
        limits = Limits(concurrency=concurrency)
        sender = Sender(connector, target("scripted", "", limits=limits), Limiter.alone(limits), quick, set())
        return [await sender.answer(ask(str(number)), retries) for number in range(count)]

    return run


async def test_ten_rejections_in_a_row_stop_a_model(scripted, answers):
    connector = scripted([RequestRejected(f"no {n}") for n in range(99)])
    outcomes = await answers(connector, 15)
    assert len(connector.sent) == 10
    assert [type(answer.error) for answer in outcomes] == [RequestRejected] * 10 + [KeptFailing] * 5
    assert "10 requests in a row were rejected; the last error: no 9; correct that" in str(outcomes[-1].error)
    assert outcomes[-1].attempts == 0


async def test_one_success_among_rejections_is_enough_to_go_on(scripted, answers):
    script = [*(RequestRejected("no") for _ in range(9)), "Yes"] * 3
    connector = scripted(script)
    await answers(connector, 30)
    assert len(connector.sent) == 30


@pytest.mark.parametrize(("concurrency", "most"), [(1, 20), (16, 32)])
async def test_a_server_that_is_down_stops_a_model(scripted, answers, concurrency, most):
    connector = scripted([ServerFault("down") for _ in range(999)])
    outcomes = await answers(connector, most + 3, retries=1, concurrency=concurrency)
    assert len(connector.sent) == 2 * most
    assert [type(answer.error) for answer in outcomes[-3:]] == [KeptFailing] * 3
    assert "the last error: down" in str(outcomes[-1].error)


async def test_what_is_answered_in_the_end_is_no_failure(scripted, answers):
    connector = scripted([ServerFault("once"), "Yes"] * 60)
    outcomes = await answers(connector, 60, retries=1)
    assert all(answer.reply for answer in outcomes)


async def test_requests_in_flight_when_a_model_stops_still_land(scripted, target, quick, ask):
    opens = asyncio.Event()
    opens.set()
    connector = scripted([RequestRejected("no") for _ in range(12)], opens=opens, expects=13)
    limits = Limits(concurrency=16)
    sender = Sender(connector, target("scripted", "", limits=limits), Limiter.alone(limits), quick, set())
    await sender.answer(ask("first"), 0)
    opens.clear()
    under_way = [asyncio.create_task(sender.answer(ask(str(n)), 0)) for n in range(13)]
    await connector.reached.wait()
    opens.set()
    outcomes = await asyncio.gather(*under_way)
    assert [type(answer.error) for answer in outcomes[:11]] == [RequestRejected] * 11
    assert outcomes[-1].reply is not None
    assert isinstance((await sender.answer(ask("later"), 0)).error, KeptFailing)
