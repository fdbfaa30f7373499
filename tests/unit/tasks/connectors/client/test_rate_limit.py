"""Never more than the provider takes: at once, per minute, and while it asks for a pause. What servers state
about their limits, in either of two families of headers.
"""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_left

import pytest

from biasgrid.catalogs.schema.models import Limits
from biasgrid.tasks.connectors.client.rate_limit import Limiter, RequestRate, Slots
from biasgrid.tasks.connectors.client.rate_limit_headers import StatedLimits, read_duration_s, read_stated_limits
from biasgrid.tasks.connectors.client.token_bucket import TokenBucket


async def entered(limiter: Limiter, tokens: float = 0.0) -> float:
    moment = await limiter.enter(tokens)
    limiter.leave()
    return moment


async def test_no_more_than_concurrency_are_inside_at_once():
    limiter = Limiter.alone(Limits(concurrency=3))
    inside = most = 0

    async def enter():
        nonlocal inside, most
        await limiter.enter()
        inside += 1
        most = max(most, inside)
        await asyncio.sleep(0.005)
        inside -= 1
        limiter.leave()

    await asyncio.gather(*(enter() for _ in range(20)))
    assert most == 3


async def test_requests_per_minute_hold_from_the_first_second():
    limiter = Limiter.alone(Limits(concurrency=100, requests_per_minute=6000))
    started = time.monotonic()
    moments = await asyncio.gather(*(entered(limiter) for _ in range(130)))
    assert max(moments) - started >= 0.29  # a second's worth at once, then 100 a second


async def test_what_one_second_allows_is_admitted_at_once_and_no_more():
    rate = TokenBucket(600, unit=1.0)
    assert [rate.reserve(1.0, 0.0) for _ in range(9)] == [0.0] * 9  # ten a second: one second's worth at once

    slow = Limiter.alone(Limits(requests_per_minute=1))
    await entered(slow)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(entered(slow), 0.05)


async def test_a_pause_holds_for_everybody():
    limiter = Limiter.alone(Limits(concurrency=8))
    started = time.monotonic()
    limiter.requests.hold(limiter.now() + 0.1)
    limiter.requests.hold(limiter.now() + 0.01)  # a shorter one does not shorten it
    moments = await asyncio.gather(*(entered(limiter) for _ in range(4)))
    assert min(moments) - started >= 0.1


async def test_one_that_is_cancelled_while_waiting_gives_the_place_back():
    limiter = Limiter.alone(Limits(concurrency=1))
    limiter.requests.hold(limiter.now() + 0.05)
    waiting = asyncio.create_task(entered(limiter))
    await asyncio.sleep(0.01)
    waiting.cancel()
    await asyncio.wait([waiting])
    await asyncio.wait_for(entered(limiter), 1)


async def test_tokens_per_minute_hold_for_what_is_expected():
    limiter = Limiter.alone(Limits(concurrency=100, tokens_per_minute=61_000))  # a thousand a second
    first, *_, last = await asyncio.gather(*(entered(limiter, 100.0) for _ in range(12)))
    assert 0.19 <= last - first < 0.4


async def test_what_a_reply_took_beyond_what_was_expected_is_made_up_for():
    limiter = Limiter.alone(Limits(tokens_per_minute=61_000))
    began = await entered(limiter, 900.0)
    limiter.tokens.correct(300.0)
    assert await entered(limiter) - began >= 0.19


async def test_a_request_larger_than_a_seconds_tokens_waits_and_goes():
    limiter = Limiter.alone(Limits(tokens_per_minute=61_000))
    began = limiter.now()
    assert 0.09 <= await entered(limiter, 1100.0) - began < 0.5


def test_a_minute_and_its_burst_together_stay_within_the_limit():
    for per_minute in (1, 2, 59, 60, 100, 6000):
        rate, taken, now = TokenBucket(per_minute, unit=1.0), 0, 0.0
        while (now := rate.reserve(1.0, now)) < 60:
            taken += 1
        assert 0.96 * per_minute <= taken <= per_minute


@pytest.mark.parametrize(("freely", "known_at"), [(1, 0.1), (64, 0.1), (256, 2.0), (1500, 5.0)])
def test_what_was_sent_before_a_server_stated_its_limit_counts(freely, known_at):
    rate = TokenBucket(None, unit=1.0)
    sent = [rate.reserve(1.0, known_at * number / freely) for number in range(freely)]
    rate.limit("stated", 1200, known_at)
    now = known_at
    while (now := rate.reserve(1.0, now)) < 300:
        sent.append(now)
    over = max(0, freely - 1200)  # gone before anybody could know
    for start, began in enumerate(sent):
        assert bisect_left(sent, began + 60) - start <= 1200 + over
    assert len(sent) >= 0.96 * 1200 * 5


def test_the_debt_is_of_the_last_minute_alone():
    rate = TokenBucket(None, unit=1.0)
    for number in range(600):
        rate.reserve(1.0, float(number))  # one a second, for ten minutes
    rate.limit("stated", 120, 600.0)
    assert rate.reserve(1.0, 600.0) - 600.0 == pytest.approx(30, abs=2)


async def test_the_least_of_what_is_configured_and_stated_holds():
    limiter = Limiter.alone(Limits(requests_per_minute=6000))
    limiter.apply(StatedLimits(requests_per_minute=60))
    assert limiter.requests.rate.per_second == pytest.approx(1, rel=0.02)
    limiter.apply(StatedLimits(requests_per_minute=60_000))
    assert limiter.requests.rate.per_second == pytest.approx(100, rel=0.02)


async def test_a_server_with_nothing_left_is_left_alone():
    limiter = Limiter.alone(Limits())
    began = limiter.now()
    limiter.apply(StatedLimits(hold_s=0.05))
    assert await entered(limiter) - began >= 0.05
    limiter.apply(StatedLimits(requests_per_minute=600, hold_s=0.05))
    began = limiter.now()
    assert await entered(limiter) - began >= 0.05


async def test_slots_can_be_fewer_or_more_while_they_are_used():
    limiter = Limiter.alone(Limits(concurrency=2))
    await limiter.enter()
    await limiter.enter()
    waiting = [asyncio.create_task(limiter.enter()) for _ in range(3)]
    await asyncio.sleep(0)
    limiter.slots.resize(4)
    await asyncio.sleep(0)
    assert [task.done() for task in waiting] == [True, True, False]
    limiter.slots.resize(1)
    for _ in range(3):
        limiter.leave()
        await asyncio.sleep(0)
        assert not waiting[2].done()
    limiter.leave()
    await waiting[2]


async def test_a_model_that_waits_for_its_rate_keeps_no_slot_from_others():
    slots = Slots(1)
    slow = Limiter(slots, RequestRate(1), TokenBucket(None))
    quick = Limiter(slots, RequestRate(None), TokenBucket(None))
    await entered(slow)
    waiting = asyncio.create_task(entered(slow))
    await asyncio.sleep(0)
    await asyncio.wait_for(entered(quick), 1)
    waiting.cancel()
    await asyncio.wait([waiting])


async def test_models_that_share_slots_get_them_in_turn():
    slots, turns = Slots(1), []
    models = {name: Limiter(slots, RequestRate(None), TokenBucket(None)) for name in "ab"}

    async def use(name):
        await models[name].enter()
        turns.append(name)
        await asyncio.sleep(0)
        models[name].leave()

    await asyncio.gather(*(use(name) for name in "aaaabbbb"))
    assert "".join(turns[:7]) in ("aabababa", "aababab", "abababa")


async def test_one_that_is_cancelled_gives_requests_and_tokens_back():
    limiter = Limiter.alone(Limits(concurrency=5, requests_per_minute=60, tokens_per_minute=61_000))
    await entered(limiter)
    for _ in range(20):
        waiting = asyncio.create_task(entered(limiter, 500.0))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
    began = limiter.now()
    assert await entered(limiter, 500.0) - began <= 1.1


async def test_cancelled_at_the_moment_of_its_turn_it_gives_its_slot_back():
    limiter = Limiter.alone(Limits(concurrency=1))
    await limiter.enter()
    waiting = asyncio.create_task(limiter.enter())
    await asyncio.sleep(0)
    limiter.leave()
    waiting.cancel()
    await asyncio.wait([waiting])
    assert waiting.cancelled()
    await asyncio.wait_for(entered(limiter), 1)


async def test_many_cancelled_while_they_wait_hold_up_no_one():
    limiter = Limiter.alone(Limits(concurrency=1))
    await limiter.enter()
    waiting = [asyncio.create_task(entered(limiter)) for _ in range(50)]
    await asyncio.sleep(0)
    for task in waiting[:49]:
        task.cancel()
    limiter.leave()
    await asyncio.wait_for(waiting[49], 1)


def openai(limit, remaining, reset, unit="requests"):
    return {
        f"x-ratelimit-limit-{unit}": limit,
        f"x-ratelimit-remaining-{unit}": remaining,
        f"x-ratelimit-reset-{unit}": reset,
    }


@pytest.mark.parametrize(
    ("stated", "seconds"),
    [("1s", 1.0), ("6m0s", 360.0), ("120ms", 0.12), ("1h2m3.5s", 3723.5), ("2", 2.0), ("1d", 86_400.0)],
)
def test_durations_as_servers_write_them(stated, seconds):
    assert read_duration_s(stated) == pytest.approx(seconds)


@pytest.mark.parametrize("stated", [None, "", "soon", "-1s", "1 s", "nan", "s", "1w"])
def test_what_is_no_duration_states_nothing(stated):
    assert read_duration_s(stated) is None


def test_openais_headers_state_requests_and_tokens_a_minute():
    headers = openai("500", "499", "120ms") | openai("30000", "29500", "1s", "tokens")
    assert read_stated_limits(headers) == StatedLimits(500, 30_000)


def test_nothing_left_holds_back_until_the_reset():
    assert read_stated_limits(openai("60", "0", "42s")).hold_s == 42
    assert read_stated_limits(openai("60", "60", "1s") | openai("1000", "0", "7s", "tokens")).hold_s == 7


def test_where_some_comes_back_each_second_no_one_waits_until_all_is_back():
    assert read_stated_limits(openai("1200", "0", "1m0s")).hold_s == 1
    assert read_stated_limits(openai("60", "0", "60.000s")).hold_s == 1


def test_a_days_quota_is_no_limit_of_a_minute():
    assert read_stated_limits(openai("10000", "9999", "8.64s")) == StatedLimits()
    assert read_stated_limits(openai("14400", "0", "24h0m0s")) == StatedLimits()


@pytest.mark.parametrize(
    ("policy", "per_minute"),
    [
        ('"default";q=100;w=60', 100),
        ('"burst";q=5;w=1, "minute";q=200;w=60', 200),
        ("minute;q=10;w=30;pk=:abc:", 20),
        ('"a,b;q=1";q=90;w=60', 90),
        ('"default";q=100;w=60;qu="content-bytes"', None),
        ('"day";q=1000;w=86400', None),
        ('"default";q=many;w=60', None),
        ('"default";q=5', None),
        ("", None),
        (";;;,,,=", None),
    ],
)
def test_the_ietfs_policy_states_a_quota_in_a_window(policy, per_minute):
    assert read_stated_limits({"ratelimit-policy": policy}).requests_per_minute == per_minute


def test_the_ietfs_limit_states_what_is_left():
    policy = {"ratelimit-policy": '"default";q=100;w=60'}
    assert read_stated_limits(policy | {"ratelimit": '"default";r=0;t=12'}) == StatedLimits(100, None, 12)
    assert read_stated_limits(policy | {"ratelimit": '"default";r=50;t=12'}) == StatedLimits(100)


@pytest.mark.parametrize("stated", ["", "none", "-5", "inf", "0", "1e999"])
def test_a_limit_that_makes_no_sense_is_ignored(stated):
    assert read_stated_limits(openai(stated, "1", "1s")) == StatedLimits()


def test_most_replies_state_nothing():
    assert read_stated_limits({"content-type": "application/json"}) == StatedLimits()
