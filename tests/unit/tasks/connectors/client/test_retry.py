"""1 + retries attempts for what may pass, one for what cannot. Errors quote a provider's message on one line,
without a trace of a key.
"""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime

import pytest

from biasgrid.catalogs.schema.models import Limits
from biasgrid.tasks.connectors.api import (
    CapReached,
    Disconnected,
    KeyRejected,
    QuotaResting,
    RateLimited,
    RequestRejected,
    ServerFault,
    TimedOut,
)
from biasgrid.tasks.connectors.client.error_mapping import ErrorMapper, redact, retry_after_s
from biasgrid.tasks.connectors.client.rate_limit import Limiter
from biasgrid.tasks.connectors.client.retry import Backoff, RequestRetries, RetryBudget
from biasgrid.tasks.connectors.client.run_budget import RunBudget
from biasgrid.tasks.connectors.client.sender import Sender


@pytest.fixture
def sender(target, quick):
    def make(connector, limits=None, backoff=quick, run_budget=None):
        limits = limits or Limits()
        model = target("scripted", "", limits=limits)
        return Sender(connector, model, Limiter.alone(limits), backoff, set(), run_budget)

    return make


@pytest.mark.parametrize("fault", [ServerFault, TimedOut, Disconnected, RateLimited])
async def test_what_may_pass_is_sent_again_until_it_passes(scripted, sender, ask, fault):
    connector = scripted([fault("once"), fault("twice"), "Yes"])
    answer = await sender(connector).answer(ask(), retries=3)
    assert answer.reply is not None
    assert (answer.reply.text, answer.error, answer.attempts) == ("Yes", None, 3)


@pytest.mark.parametrize("retries", [0, 1, 4])
async def test_retries_count_the_attempts_after_the_first(scripted, sender, ask, retries):
    connector = scripted([ServerFault(f"fault {n}") for n in range(9)])
    answer = await sender(connector).answer(ask(), retries)
    assert len(connector.sent) == answer.attempts == 1 + retries
    assert answer.reply is None
    assert str(answer.error) == f"fault {retries}"


@pytest.mark.parametrize("fault", [RequestRejected, KeyRejected])
async def test_what_cannot_pass_is_sent_once(scripted, sender, ask, fault):
    connector = scripted([fault("never")])
    answer = await sender(connector).answer(ask(), retries=5)
    assert isinstance(answer.error, fault)
    assert len(connector.sent) == answer.attempts == 1


async def test_an_attempt_that_takes_too_long_is_timed_out_and_sent_again(scripted, sender, ask):
    connector = scripted(takes_s=5)
    answer = await sender(connector, Limits(timeout_s=0.03)).answer(ask(), retries=1)
    assert isinstance(answer.error, TimedOut)
    assert answer.attempts == 2
    assert 25 <= answer.latency_ms < 1000


async def test_a_single_429_keeps_only_its_own_request_waiting(scripted, sender, ask):
    one = sender(scripted([RateLimited("slow down", 0.2)]))
    refused = asyncio.create_task(one.answer(ask(), retries=1))
    await asyncio.sleep(0.01)
    assert (await one.answer(ask("another"), retries=0)).attempts == 1
    assert not refused.done()
    assert (await refused).attempts == 2


async def test_a_429_is_no_attempt_of_the_retries(scripted, sender, ask):
    connector = scripted([*(RateLimited("slow down", 0.001) for _ in range(9)), ServerFault("once")])
    answer = await sender(connector).answer(ask(), retries=1)
    assert answer.reply is not None
    assert answer.attempts == 11


async def test_without_retries_nothing_is_sent_again(scripted, sender, ask):
    answer = await sender(scripted([RateLimited("slow down", 0.001)])).answer(ask(), retries=0)
    assert isinstance(answer.error, RateLimited)
    assert answer.attempts == 1


async def test_refusals_are_waited_for_with_patience_that_ends(scripted, sender, ask):
    connector = scripted([RateLimited("slow down", 0.02) for _ in range(99)])
    patient = Backoff(first_s=0.0001, longest_s=0.0001, outage_s=0.05, patience_s=0.1)
    answer = await sender(connector, backoff=patient).answer(ask(), retries=3)
    assert isinstance(answer.error, RateLimited)
    assert 4 <= answer.attempts <= 6


async def test_a_cell_whose_budget_is_spent_sends_nothing_again(scripted, sender, ask):
    connector = scripted([ServerFault("no") for _ in range(99)])
    budget = RetryBudget(start=3)
    answers = [await sender(connector).answer(ask(str(n)), 5, budget) for n in range(3)]
    assert [answer.attempts for answer in answers] == [6, 3, 3]  # three to start with, and two for each


async def test_refusals_cost_a_cells_budget_a_quarter():
    budget = RetryBudget(start=1)
    assert [budget.spend(refused=True) for _ in range(5)] == [True] * 4 + [False]
    budget.grow()
    assert [budget.spend(refused=False) for _ in range(3)] == [True, True, False]


async def test_retry_after_is_waited_for_before_the_retry(scripted, sender, ask):
    started = time.monotonic()
    answer = await sender(scripted([RateLimited("slow down", 0.1)])).answer(ask(), retries=1)
    assert answer.attempts == 2
    assert time.monotonic() - started >= 0.1


@pytest.mark.parametrize(("seconds", "spoken"), [(86_400, "24.0 hours"), (1_200, "20 minutes")])
async def test_a_wait_longer_than_a_run_stops_the_model(scripted, sender, ask, seconds, spoken):
    connector = scripted([RateLimited("come back tomorrow", seconds)])
    daily = sender(connector)
    answer = await daily.answer(ask(), retries=5)
    assert isinstance(answer.error, QuotaResting)
    assert str(answer.error) == f"come back tomorrow; the provider asks to wait {spoken}, then `biasgrid resume`"
    assert answer.attempts == 1
    after = await daily.answer(ask("another"), retries=5)
    assert (after.error, after.attempts, len(connector.sent)) == (answer.error, 0, 1)


async def test_a_wait_within_patience_stops_nothing(scripted, sender, ask):
    one = sender(scripted([RateLimited("slow down", 0.05)]), backoff=Backoff(first_s=0.001, patience_s=0.05))
    assert (await one.answer(ask(), retries=1)).reply is not None


async def test_a_waiting_retry_leaves_its_place_to_others(scripted, sender, ask):
    slow = Backoff(first_s=0.2, jitter=lambda low, high: high)
    one = sender(scripted([ServerFault("once")]), Limits(concurrency=1), slow)
    waiting = asyncio.create_task(one.answer(ask(), retries=1))
    await asyncio.sleep(0.02)
    await one.answer(ask("another"), retries=0)
    assert not waiting.done()
    assert (await waiting).attempts == 2


async def test_a_stopped_model_ends_retries_under_way(scripted, sender, ask):
    one = sender(
        scripted([ServerFault("once"), KeyRejected("bad key")]),
        backoff=Backoff(first_s=0.2, jitter=lambda low, high: high),
    )
    first = asyncio.create_task(one.answer(ask(), retries=3))
    await asyncio.sleep(0.01)
    await one.answer(ask("another"), retries=0)
    assert isinstance((await first).error, KeyRejected)
    assert first.result().attempts == 1


async def test_latency_and_arrival_are_of_the_last_attempt(scripted, sender, ask):
    answer = await sender(scripted([ServerFault("once")], takes_s=0.03)).answer(ask(), retries=1)
    assert 25 <= answer.latency_ms < 1000
    assert (datetime.now(UTC) - answer.received_at).total_seconds() < 1


def test_waits_grow_to_a_ceiling_and_add_to_what_was_asked():
    widest = Backoff(first_s=0.5, longest_s=4, jitter=lambda low, high: high)
    assert [widest.wait_s(attempts) for attempts in (1, 2, 3, 4, 5, 60)] == [0.5, 1, 2, 4, 4, 4]
    assert widest.wait_s(1, asked_s=7) == 7.5
    assert 0 <= Backoff().wait_s(3) <= 2


async def test_what_waits_for_its_turn_is_not_sent_to_a_model_that_has_stopped(scripted, sender, ask):
    connector = scripted([KeyRejected("bad key")])
    one = sender(connector, Limits(concurrency=1))
    answers = await asyncio.gather(*(one.answer(ask(str(n)), retries=3) for n in range(5)))
    assert [answer.attempts for answer in answers] == [1, 0, 0, 0, 0]
    assert len(connector.sent) == 1


async def test_errors_kept_in_answers_hold_neither_frames_nor_what_caused_them(scripted, sender, ask):
    class Chained(scripted):
        async def ask(self, request):
            raise ServerFault("it failed") from OSError("Authorization: Bearer sk-secret")

    error = (await sender(Chained()).answer(ask(), retries=0)).error
    assert error is not None
    assert (error.__traceback__, error.__cause__, error.__context__) == (None, None, None)


async def test_behind_a_cap_no_one_waits_for_what_becomes_of_the_first(scripted, sender, ask):
    one = sender(scripted(), run_budget=RunBudget(max_requests=0), backoff=Backoff(alone_s=3600))
    async with asyncio.timeout(30):
        answers = [await one.answer(ask(str(n)), retries=3) for n in range(5)]
        together = await asyncio.gather(*(one.answer(ask(str(n)), retries=3) for n in range(5)))
    assert {type(answer.error) for answer in answers + together} == {CapReached}


async def test_those_behind_a_first_that_a_cap_stops_are_let_go_with_it(scripted, sender, ask):
    one = sender(scripted(), run_budget=RunBudget(max_requests=0), backoff=Backoff(alone_s=3600))
    async with asyncio.timeout(30):
        answers = await asyncio.gather(*(one.answer(ask(str(n)), retries=3) for n in range(5)))
    assert all(isinstance(answer.error, CapReached) for answer in answers)


KEY = "sk-proj-a1B2c3D4e5F6g7H8"


@pytest.mark.parametrize(
    "echo",
    [KEY, f"Bearer {KEY}", KEY[:12], KEY[-8:], "sk-pr***********g7H8", "sk-pr…g7H8", "hf_abcdefghij", f'"{KEY}"'],
)
def test_no_shape_of_a_key_is_quoted(echo):
    shown = redact(f"Incorrect API key provided: {echo}. You can find it in your settings.", KEY)
    assert "settings" in shown
    assert "[key]" in shown
    assert not any(KEY[at : at + 6] in shown for at in range(len(KEY) - 5))


def test_ordinary_words_are_quoted_as_they_are():
    words = "This model's maximum context length is 4096 tokens (see model-4...); reduce your prompt."
    assert redact("Invalid 'temperature': must be <= 2.0", KEY) == "Invalid 'temperature': must be <= 2.0"
    assert redact(words, "") == words


def test_what_a_provider_states_is_cut_to_one_short_line():
    shown = redact("too\nlong " * 200, KEY)
    assert "\n" not in shown
    assert len(shown) == 300


def test_what_steers_a_terminal_is_not_quoted():
    words = "no\x1b[2J\x07 \u202egood\u200b\ud83d\x00 fit\nat\tall"
    assert redact(words, "") == "no[2J good fit at all"


def test_a_key_is_not_hidden_by_what_is_not_shown():
    assert redact(f"{KEY[:6]}\u200b{KEY[6:]} is wrong", KEY) == "[key] is wrong"


def test_an_error_names_model_and_remedy(target):
    faults = ErrorMapper(target("openai", "http://127.0.0.1:1"), KEY)
    assert "`SOME_API_KEY`" in str(faults.status(401, {}, b"{}"))
    assert "base URL" in str(faults.status(404, {}, b"{}"))
    assert "credit" in str(faults.status(402, {}, b"{}"))
    assert str(faults.unforeseen(KeyError(KEY))).endswith("the reply could not be read (KeyError)")


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "20"}, 20.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after-ms": "350", "retry-after": "1"}, 0.35),
        ({"retry-after": "Thu, 01 Jan 2026 00:00:30 GMT"}, 30.0),
        ({"retry-after": "Thu, 01 Jan 2026 00:00:30 -0000"}, 30.0),
        ({"retry-after": "Wed, 31 Dec 2025 00:00:00 GMT"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "in a while"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_retry_after_in_every_form(headers, seconds):
    assert retry_after_s(headers, now=datetime(2026, 1, 1, tzinfo=UTC)) == seconds


@pytest.mark.parametrize("status", [503, 529])
def test_an_overloaded_server_that_states_when_to_come_back_has_refused(target, status):
    faults = ErrorMapper(target("openai", "http://127.0.0.1:1"), KEY)
    refused = faults.status(status, {"retry-after": "7"}, b"{}")
    assert isinstance(refused, RateLimited)
    assert refused.retry_after_s == 7
    assert isinstance(faults.status(status, {}, b"{}"), ServerFault)


def test_failures_and_refusals_are_counted_apart_and_each_wait_is_twice_the_one_before():
    longest = Backoff(first_s=1.0, longest_s=60.0, jitter=max)
    own = RequestRetries(retries=2, budget=None)
    errors = [ServerFault("busy"), RateLimited("slow down"), ServerFault("busy"), RateLimited("slow down")]
    assert [own.wait_s(error, longest) for error in errors] == [1.0, 1.0, 2.0, 2.0]
    assert own.wait_s(ServerFault("busy"), longest) is None
    assert own.waited_s == 3.0
