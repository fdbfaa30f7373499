"""Many requests through few workers: landed as they arrive, and none forgotten at the end."""

import asyncio

import pytest

from biasgrid.catalogs.schema.models import Limits
from biasgrid.tasks.connectors.api import KeyRejected, ServerFault
from biasgrid.tasks.connectors.client.model_pool import ModelPool
from biasgrid.tasks.connectors.workers import Workers


@pytest.fixture
def work(catalog, quick, target, ask):
    """Runs `Workers` over numbers through a connector of one's own; what landed is appended to `landed`."""

    async def run(connector, numbers, land, *, limits=None, key=str, retries=2, workers=None, **settings):
        model = target("scripted", "", key_env=(), limits=limits or Limits())
        async with ModelPool(catalog, backoff=quick, connect=connector) as model_pool:
            sending = Workers(model_pool, model, lambda n: ask(f"{n}?", key=key(n)), land, retries, **settings)
            await sending.answer_all(numbers, workers)

    return run


async def test_every_request_lands_once(scripted, work):
    landed = []
    await work(scripted(takes_s=0.001), range(100), lambda n, answer: landed.append((n, answer.reply.text)))
    assert sorted(landed) == [(n, "Yes") for n in range(100)]


async def test_errors_land_as_answers(scripted, work):
    landed = {}
    connector = scripted([ServerFault(str(n)) for n in range(3)])
    await work(connector, range(4), landed.__setitem__, workers=1, retries=0)
    assert [answer.error is not None for answer in landed.values()] == [True, True, True, False]


async def test_a_stopped_models_requests_all_land_with_its_error(scripted, work):
    landed = {}
    connector = scripted([KeyRejected("bad key")])
    await work(connector, range(50), landed.__setitem__, workers=4)
    assert len(landed) == 50
    assert len(connector.sent) <= 4
    assert sum(isinstance(answer.error, KeyRejected) for answer in landed.values()) >= 47


async def test_requests_are_taken_one_by_one(scripted, work):
    taken = []

    def numbers():
        for n in range(1000):
            taken.append(n)
            yield n

    most_ahead = []
    landed = []

    def land(n, answer):
        landed.append(n)
        most_ahead.append(len(taken) - len(landed))

    await work(scripted(), numbers(), land, workers=5)
    assert max(most_ahead) <= 5
    assert len(landed) == 1000


async def test_no_more_workers_than_reported(scripted, work):
    connector = scripted(takes_s=0.002)
    await work(connector, range(40), lambda n, answer: None, workers=3)
    assert connector.most_in_flight == 3


async def test_an_answer_lands_the_moment_it_arrives(scripted, work):
    connector = scripted(takes_s=0.01)
    sent_when_landed = []
    await work(connector, range(6), lambda n, answer: sent_when_landed.append(len(connector.sent)), workers=2)
    assert sent_when_landed[0] == 1  # the first goes alone
    assert sent_when_landed[1] <= 3  # of six: those behind are sent as those before land


async def test_a_shared_answer_is_landed_by_one_and_reported_to_the_other(scripted, work):
    landed, shared = [], []
    connector = scripted(takes_s=0.01)
    await work(
        connector,
        range(4),
        lambda n, answer: landed.append(n),
        key=lambda n: str(n // 2),
        share=lambda n, answer: shared.append(n),
    )
    assert len(connector.sent) == len(landed) == len(shared) == 2
    assert sorted(landed + shared) == [0, 1, 2, 3]


async def test_cancelling_lets_what_was_sent_land_and_sends_nothing_more(scripted, work):
    connector, landed = scripted(opens=asyncio.Event(), expects=4), []
    working = asyncio.create_task(work(connector, range(1000), lambda n, answer: landed.append(n), workers=4))
    await connector.reached.wait()
    working.cancel()
    await asyncio.sleep(0.02)
    assert not working.done()
    connector.opens.set()
    with pytest.raises(asyncio.CancelledError):
        await working
    assert sorted(landed) == [0, 1, 2, 3]
    assert len(connector.sent) == 4


async def test_cancelling_gives_up_what_only_waits_for_its_turn(scripted, work):
    connector, landed = scripted(opens=asyncio.Event()), []
    narrow = Limits(concurrency=1)
    working = asyncio.create_task(
        work(connector, range(1000), lambda n, answer: landed.append(n), workers=8, limits=narrow)
    )
    await connector.reached.wait()
    working.cancel()
    await asyncio.sleep(0.02)
    connector.opens.set()
    await asyncio.wait([working])
    assert landed == [0]
    assert len(connector.sent) == 1


async def test_cancelling_waits_no_longer_than_its_patience(scripted, work):
    connector, landed = scripted(opens=asyncio.Event()), []
    working = asyncio.create_task(work(connector, range(9), lambda *_: landed.append(1), patience_s=0.05))
    await connector.reached.wait()
    working.cancel()
    done, _ = await asyncio.wait([working], timeout=5)
    assert done == {working}
    assert working.cancelled()
    assert landed == []


async def test_a_second_cancellation_ends_the_patience(scripted, work):
    connector = scripted(opens=asyncio.Event())
    working = asyncio.create_task(work(connector, range(9), lambda *_: None))
    await connector.reached.wait()
    for _ in range(2):
        working.cancel()
        await asyncio.sleep(0.02)
    done, _ = await asyncio.wait([working], timeout=5)
    assert done == {working}


async def test_an_error_of_landing_stops_everything_and_surfaces(scripted, work):
    connector = scripted(takes_s=0.001)

    def full(n, answer):
        if n == 3:
            raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        await work(connector, range(1000), full, workers=4)
    assert len(connector.sent) < 20


async def test_an_error_of_landing_surfaces_through_a_cancellation(scripted, work):
    connector = scripted(opens=asyncio.Event(), expects=2)

    def full(n, answer):
        raise OSError("no space left")

    working = asyncio.create_task(work(connector, range(9), full, workers=2))
    await connector.reached.wait()
    working.cancel()
    await asyncio.sleep(0.02)
    connector.opens.set()
    with pytest.raises(OSError, match="no space left"):
        await working


async def test_an_error_of_the_requests_surfaces(scripted, work):
    def numbers():
        yield 1
        raise ValueError("a broken row")

    with pytest.raises(ValueError, match="a broken row"):
        await work(scripted(), numbers(), lambda *_: None)


async def test_nothing_to_ask_is_done_at_once(scripted, work):
    await work(scripted(), [], lambda *_: None)


async def test_a_model_that_stops_at_its_first_request_is_sent_no_other(scripted, work):
    connector = scripted([KeyRejected("bad key")], takes_s=0.01)
    outcomes = []
    await work(connector, range(8), lambda n, answer: outcomes.append(type(answer.error)), workers=8)
    assert len(connector.sent) == 1
    assert outcomes == [KeyRejected] * 8
