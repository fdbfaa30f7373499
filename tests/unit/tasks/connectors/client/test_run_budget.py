"""A run sends and spends no more than it may, retries included, and the error names the cap that ended it."""

import asyncio
import time

import pytest

from biasgrid.catalogs.schema.models import Limits, Prices
from biasgrid.tasks.connectors.api import CapReached, Reply, ServerFault, TimedOut
from biasgrid.tasks.connectors.client.model_pool import ModelPool
from biasgrid.tasks.connectors.client.run_budget import RunBudget, most_usd

DEAR = Prices(input=1000, output=1000)  # a tenth of a cent a token


@pytest.fixture
def answers(catalog, quick, target, ask):
    """What becomes of requests that are asked side by side under an allowance."""

    async def run(connector, run_budget, count, retries=0, concurrency=4, prices=None, **sampling):
        limits = Limits(concurrency=concurrency)
        model = target("scripted", "", key_env=(), limits=limits, prices=prices)
        async with ModelPool(catalog, backoff=quick, connect=connector, run_budget=run_budget) as model_pool:
            asked = [
                model_pool.answer(model, ask("x" * 20, key=str(n), **sampling), retries) for n in range(count)
            ]
            return await asyncio.gather(*asked)

    return run


@pytest.fixture
def priced(scripted):
    """A model whose every reply takes ten tokens in and ten out."""

    class Priced(scripted):
        async def ask(self, request):
            reply = await super().ask(request)
            return Reply(reply.text, input_tokens=10, output_tokens=10)

    return Priced


async def test_no_more_requests_are_sent_than_the_cap(scripted, answers):
    connector, run_budget = scripted(takes_s=0.001), RunBudget(max_requests=10)
    answers_received = await answers(connector, run_budget, 25)
    assert len(connector.sent) == run_budget.sent == 10
    assert sum(answer.reply is not None for answer in answers_received) == 10
    refused = [answer for answer in answers_received if answer.reply is None]
    assert all(isinstance(answer.error, CapReached) and answer.attempts == 0 for answer in refused)
    assert "cap of 10 requests" in str(refused[0].error)
    assert "`biasgrid resume RUN --max-requests" in str(refused[0].error)


async def test_retries_count(scripted, answers):
    connector, run_budget = scripted([ServerFault("no") for _ in range(99)]), RunBudget(max_requests=3)
    (answer,) = await answers(connector, run_budget, 1, retries=9)
    assert len(connector.sent) == 3
    assert isinstance(answer.error, CapReached)
    assert answer.attempts == 3


async def test_what_was_sent_before_a_resume_counts(scripted, answers):
    connector, run_budget = scripted(), RunBudget(max_requests=10, sent=8)
    await answers(connector, run_budget, 5)
    assert len(connector.sent) == 2
    assert run_budget.requests_left == 0


async def test_what_is_spent_never_exceeds_the_cap(priced, answers):
    connector, run_budget = priced(takes_s=0.001), RunBudget(max_cost=0.5)
    answers_received = await answers(connector, run_budget, 60, concurrency=16, prices=DEAR, max_tokens=10)
    assert run_budget.cost <= 0.5
    assert run_budget.cost == pytest.approx(0.02 * len(connector.sent))
    assert 0.5 - run_budget.cost < most_of_one(answers) + 1e-9
    stopped = [answer.error for answer in answers_received if answer.reply is None]
    assert stopped
    assert "cap of $0.50" in str(stopped[0])
    assert "--max-cost" in str(stopped[0])


def most_of_one(answers):
    """20 bytes at two a token, 16 around them, and 10 for the reply, each a tenth of a cent."""
    return 0.036


async def test_a_request_that_cannot_be_paid_is_not_sent(scripted, answers):
    connector = scripted()
    (answer,) = await answers(connector, RunBudget(max_cost=0.5), 1, prices=DEAR)  # up to 1,000 tokens of reply
    assert connector.sent == []
    assert isinstance(answer.error, CapReached)


async def test_what_waits_for_money_leaves_the_slot_to_others(catalog, quick, target, ask, priced):
    opens, prices = asyncio.Event(), DEAR
    connector, run_budget = priced(opens=opens), RunBudget(max_cost=1.0)
    hold = await run_budget.take(0.98)
    own = {"key_env": (), "limits": Limits(concurrency=1)}
    dear = target("scripted", "", **own, prices=prices)
    free = target("scripted", "", **own | {"model": "scripted/free"}, prices=Prices(input=0, output=0))
    async with ModelPool(catalog, backoff=quick, connect=connector, run_budget=run_budget) as model_pool:
        waiting = asyncio.create_task(model_pool.answer(dear, ask("x", key="a", max_tokens=10), 0))
        alongside = asyncio.create_task(model_pool.answer(free, ask("x", key="b", max_tokens=10), 0))
        async with asyncio.timeout(30):
            await connector.reached.wait()
        opens.set()
        assert (await alongside).reply
        assert not waiting.done()
        hold.end()
        could_go = time.perf_counter()
        answer = await waiting
        assert answer.reply
        assert answer.latency_ms <= (time.perf_counter() - could_go) * 1000


async def test_requests_that_were_set_aside_and_not_sent_are_there_for_others():
    run_budget = RunBudget(max_requests=10)
    async with run_budget.rest(50) as hold:
        assert (hold.requests, run_budget.requests_left) == (10, 0)
        alongside = asyncio.create_task(run_budget.take(0.0))
        await asyncio.sleep(0)
        assert not alongside.done()
        hold.keep(7, 0.0)
    assert await alongside
    assert (run_budget.requests_left, run_budget.reached) == (2, None)


async def test_what_is_counted_back_wakes_those_who_wait():
    run_budget = RunBudget(max_cost=1.0, cost=0.5)
    await run_budget.take(0.4)
    alongside = asyncio.create_task(run_budget.take(0.4))
    await asyncio.sleep(0)
    run_budget.count(0, -0.5)
    assert await alongside


async def test_money_is_reported_as_finely_as_it_needs():
    run_budget = RunBudget(max_cost=0.0026, cost=0.0025)
    await run_budget.take(0.0002)
    assert "cap of $0.0026 is reached: $0.0025 was spent, and the next request can cost $0.0002;" in str(
        run_budget.reached
    )


async def test_what_is_in_flight_is_waited_for_before_a_cap_is_called_reached(priced, answers):
    connector, run_budget = priced(takes_s=0.005), RunBudget(max_cost=0.06)
    answers_received = await answers(connector, run_budget, 2, prices=DEAR, max_tokens=10)
    assert all(answer.reply for answer in answers_received)
    assert connector.most_in_flight == 1


async def test_free_models_reserve_nothing(scripted, answers):
    connector = scripted()
    answers_received = await answers(connector, RunBudget(max_cost=0.01), 50, prices=Prices(input=0, output=0))
    assert all(answer.reply for answer in answers_received)


@pytest.mark.parametrize(("fault", "cost"), [(ServerFault, 0.0), (TimedOut, 0.036)])
async def test_a_reply_that_was_lost_may_have_been_charged(scripted, answers, fault, cost):
    run_budget = RunBudget(max_cost=1.0)
    await answers(scripted([fault("no")]), run_budget, 1, prices=DEAR, max_tokens=10)
    assert run_budget.cost == pytest.approx(cost)


async def test_a_cancelled_request_gives_its_reservation_back_as_spent(scripted, answers):
    connector, run_budget = scripted(opens=asyncio.Event()), RunBudget(max_cost=1.0)
    working = asyncio.create_task(answers(connector, run_budget, 1, prices=DEAR, max_tokens=10))
    await connector.reached.wait()
    working.cancel()
    await asyncio.wait([working])
    assert run_budget.cost_left == pytest.approx(1 - 0.036)


def test_the_most_that_a_request_costs_follows_from_its_bytes_and_its_limit(target, ask):
    model = target("openai", "", prices=Prices(input=1, output=10))
    assert most_usd(ask("x" * 200, max_tokens=50), model) == pytest.approx((116 + 500) / 1e6)
    assert most_usd(ask("x" * 200), model) == pytest.approx((116 + 10_000) / 1e6)
    assert most_usd(ask("\ud83d" * 200), model) > 0
    assert most_usd(ask(), target("openai", "")) == 0


def test_a_model_without_a_limit_may_think_for_long(target, ask):
    prices = Prices(input=1, output=10)
    thinking = target("openai", "", prices=prices, parameters=("seed",))
    assert most_usd(ask("x" * 200), thinking) == pytest.approx((116 + 80_000) / 1e6)
    assert most_usd(ask("x" * 200), thinking, longest=9_000) == pytest.approx((116 + 90_000) / 1e6)
    assert most_usd(ask("x" * 200, max_tokens=50), thinking, longest=9_000) == pytest.approx((116 + 500) / 1e6)


async def test_what_is_reserved_grows_with_the_longest_reply_of_a_model(scripted, answers):
    class Thinking(scripted):
        async def ask(self, request):
            reply = await super().ask(request)
            return Reply(reply.text, input_tokens=10, output_tokens=6_000)

    connector, run_budget = Thinking(takes_s=0.001), RunBudget(max_cost=20.0)
    await answers(connector, run_budget, 30, concurrency=16, prices=DEAR)
    assert 1 < len(connector.sent) == round(run_budget.cost / 6.01)
    assert run_budget.cost <= 20.0
