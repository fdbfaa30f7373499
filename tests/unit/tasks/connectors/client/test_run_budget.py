"""A run sends and spends no more than it may, retries included, and the error names the cap that ended it."""

import asyncio
import time
from collections import Counter
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from biasgrid.catalogs.schema.models import Limits, Prices
from biasgrid.tasks.connectors.api import CapReached, KeyRejected, Reply, ServerFault, TimedOut
from biasgrid.tasks.connectors.client.model_pool import ModelPool
from biasgrid.tasks.connectors.client.run_budget import Planned, RunBudget, divide, most_usd

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


@dataclass
class Played:
    """A model of a run: how many requests it plans, what they cost in tokens, and how each attempt ends."""

    planned: int
    tokens: int
    script: list[type[Exception] | None] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    first_round: int = 0

    async def ask(self, request):
        self.sent.append(request.request_key)
        await asyncio.sleep(0)
        fault = self.script.pop() if self.script else None
        if fault:
            raise fault("no")
        return Reply("Yes", input_tokens=0, output_tokens=self.tokens)

    async def close(self):
        pass


MOST = Planned(1, 0.046)
"""20 bytes at two a token, 16 around them, and 20 for the reply, each a tenth of a cent."""


async def play(models, run_budget, catalog, quick, target, ask):
    """Answers by model and request, of as many rounds as a run has."""
    targets = {
        f"scripted/{name}": target(
            "scripted", "", key_env=(), model=f"scripted/{name}", prices=DEAR, limits=Limits(concurrency=3)
        )
        for name in models
    }
    answers = {}

    async def one(model, key):
        answers[key] = await pool.answer(targets[model], ask("x" * 20, key=key, max_tokens=20), 1)

    def connect(target, *_):
        return models[target.model.partition("/")[2]]

    async with ModelPool(catalog, backoff=quick, connect=connect, run_budget=run_budget) as pool:
        while True:
            keys = {
                f"scripted/{name}": [
                    key
                    for number in range(model.planned)
                    if (key := f"{name}-{number}") not in answers or not answers[key].reply
                ]
                for name, model in models.items()
            }
            before = run_budget.sent, run_budget.waiting
            run_budget.share_out({name: Planned(len(own), len(own) * MOST.cost_usd) for name, own in keys.items()})
            await asyncio.gather(*(one(model, key) for model, own in keys.items() for key in own))
            for model in models.values():
                model.first_round = model.first_round or len(model.sent)
            if not run_budget.waiting or (run_budget.sent, run_budget.waiting) == before:
                return answers
            pool.begin_round()


PLAYED = st.builds(
    Played,
    planned=st.integers(0, 25),
    tokens=st.integers(0, 20),
    script=st.lists(st.sampled_from([None, None, None, ServerFault, TimedOut, KeyRejected]), max_size=8),
)
ROUNDS = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@ROUNDS
@given(
    models=st.lists(PLAYED, min_size=1, max_size=5),
    requests=st.none() | st.integers(1, 60),
    cents=st.none() | st.integers(1, 300),
)
def test_shares_never_exceed_the_caps_and_nothing_is_left_that_a_model_could_use(
    models, requests, cents, catalog, quick, target, ask
):
    named = {str(number): model for number, model in enumerate(models)}
    # an outage, which several failures may be, is no attempt of a request's retries
    away = [sum(error in (ServerFault, TimedOut) for error in model.script) for model in models]
    run_budget = RunBudget(requests, None if cents is None else cents / 100)
    answers = asyncio.run(play(named, run_budget, catalog, quick, target, ask))
    assert sum(len(model.sent) for model in models) == run_budget.sent <= (requests or run_budget.sent)
    assert cents is None or run_budget.cost <= cents / 100 + 1e-9
    for model, failures in zip(models, away, strict=True):
        assert all(count <= 2 + (failures if failures > 1 else 0) for count in Counter(model.sent).values())
    capped = [answer for answer in answers.values() if isinstance(answer.error, CapReached)]
    has_money = cents is None or run_budget.cost_left >= MOST.cost_usd
    assert not (capped and run_budget.requests_left != 0 and has_money)


@ROUNDS
@given(planned=st.lists(st.integers(1, 40), min_size=1, max_size=5), cap=st.integers(1, 80), by_cost=st.booleans())
def test_shares_are_in_proportion_to_what_each_model_plans(planned, cap, by_cost, catalog, quick, target, ask):
    named = {str(number): Played(count, 10) for number, count in enumerate(planned)}
    run_budget = RunBudget(None, 0.01 * cap) if by_cost else RunBudget(cap)
    asyncio.run(play(named, run_budget, catalog, quick, target, ask))
    for model in named.values():
        fair = cap * model.planned / sum(planned)
        # by cost, each may exceed its share by a request, and the last ones need what they reserve
        least, most = (fair - 4.6 - len(planned), fair + 1) if by_cost else (int(fair), int(fair) + 1)
        assert min(least, model.planned) <= model.first_round <= max(most, 1)


def test_what_remains_goes_to_the_largest_remainders():
    assert divide(50, {"a": 49, "b": 49}) == {"a": 25, "b": 25}
    assert divide(10, {"a": 1, "b": 1, "c": 1}) == {"a": 4, "b": 3, "c": 3}
    assert divide(1, {"a": 1, "b": 2}) == {"a": 0, "b": 1}
    assert divide(7, {}) == divide(None, {"a": 1}) == {}


async def test_what_a_broken_model_leaves_goes_to_the_others(catalog, quick, target, ask):
    models = {"broken": Played(40, 0, [KeyRejected]), "sound": Played(60, 0), "small": Played(2, 0)}
    answers = await play(models, RunBudget(51), catalog, quick, target, ask)
    assert [len(model.sent) for model in models.values()] == [1, 48, 2]
    assert isinstance(answers["broken-1"].error, KeyRejected)
    assert "share" not in str(answers["sound-59"].error)
