"""A provider that is away is waited out, by time; what time does not mend stops its model, and the reason is
reported. Hours pass in a second: the loop's clock leaps."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from biasgrid.catalogs.schema.models import Limits
from biasgrid.tasks.connectors.api import (
    BrokenReply,
    Disconnected,
    KeptFailing,
    KeyRejected,
    ProviderAway,
    QuotaResting,
    QuotaSpent,
    RateLimited,
    Reply,
    RequestRejected,
    ServerFault,
    TimedOut,
)
from biasgrid.tasks.connectors.client.rate_limit import Limiter
from biasgrid.tasks.connectors.client.retry import Backoff
from biasgrid.tasks.connectors.client.sender import Sender
from support.virtual_time import VirtualLoop

HOUR = 3600.0


@dataclass
class Provider:
    """Replies after a moment, unless `fails` has an error for that moment and prompt."""

    fails: Callable[[float, str], Exception | None]
    latency_s: float = 0.1
    sent: list[tuple[float, str]] = field(default_factory=list)
    answered: list[tuple[float, str]] = field(default_factory=list)

    async def ask(self, request):
        now, prompt = asyncio.get_running_loop().time(), request.messages[0].content
        self.sent.append((now, prompt))
        await asyncio.sleep(self.latency_s)
        if error := self.fails(now, prompt):
            raise error
        self.answered.append((now, prompt))
        return Reply("Yes")

    async def close(self): ...

    def sent_between(self, begin, end):
        return [at for at, _ in self.sent if begin <= at < end]


@pytest.fixture
def drive(target, ask):
    """Asks a provider so many prompts, as a run does; their answers and what was reported."""

    def run(provider, prompts=2000, concurrency=64, retries=3, **policy):
        limits = Limits(concurrency=concurrency)
        notes = []
        backoff = Backoff(jitter=random.Random(3).uniform, notify=notes.append, **policy)

        async def work():
            sender = Sender(provider, target("scripted", "", limits=limits), Limiter.alone(limits), backoff, set())
            answers, waiting = {}, iter(range(prompts))

            async def worker():
                for number in waiting:
                    answers[number] = await sender.answer(ask(str(number)), retries)

            await asyncio.gather(*(worker() for _ in range(4 * concurrency)))
            return [answers[number] for number in sorted(answers)]

        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            return runner.run(work()), notes

    return run


def away(begin, end, error=ServerFault):
    return lambda now, _: error("it is down") if begin <= now < end else None


@pytest.mark.parametrize("error", [ServerFault, Disconnected, TimedOut])
@pytest.mark.parametrize("concurrency", [1, 64])
@pytest.mark.parametrize(("seconds", "patience_s"), [(30, 120), (600, 900)])
def test_an_outage_is_waited_out_and_every_prompt_is_answered_once(drive, error, concurrency, seconds, patience_s):
    provider = Provider(away(1, 1 + seconds, error))
    answers, notes = drive(provider, prompts=30 * concurrency, concurrency=concurrency, outage_s=patience_s)
    assert all(answer.reply for answer in answers)
    assert len({prompt for _, prompt in provider.answered}) == len(provider.answered) == len(answers)
    # until it counts as away, a second as before; from then on one at a time, less and less often
    assert len(provider.sent_between(1, 3)) <= 11 * concurrency + 3
    assert len(provider.sent_between(3, 1 + seconds)) <= 6 + seconds / 60
    assert len(notes) == 2
    assert "away since" in notes[0]
    assert "answers again after" in notes[1]


def test_one_that_stays_away_stops_its_model_after_its_patience_with_the_reason(drive):
    provider = Provider(away(1, 24 * HOUR))
    answers, _ = drive(provider, outage_s=120)
    failed = [answer.error for answer in answers if answer.error]
    assert {type(error) for error in failed} == {ServerFault, ProviderAway}  # that of what was never sent
    assert len(failed) + len(provider.answered) == len(answers)
    assert "away since" in str(failed[-1])
    assert "it is down; asked" in str(failed[-1])
    assert "times in 2" in str(failed[-1])
    assert provider.sent[-1][0] <= 125
    assert provider.sent_between(60, 125)


def test_one_that_was_never_there_is_asked_as_seldom(drive):
    provider = Provider(away(0, HOUR, Disconnected))
    answers, _ = drive(provider)
    assert {type(answer.error) for answer in answers} == {Disconnected, ProviderAway}
    assert len(provider.sent) < 1 + 64 + 10


def test_one_that_comes_back_slow_is_asked_by_one_request_until_it_answers_in_time(drive):
    """Every request times out for a minute after the outage; then replies take seconds."""

    def fails(now, _):
        return Disconnected("no") if 1 <= now < 20 else TimedOut("slow") if 20 <= now < 80 else None

    provider = Provider(fails)
    answers, notes = drive(provider)
    assert all(answer.reply for answer in answers)
    assert len(provider.sent_between(20, 80)) <= 4
    assert len(notes) == 2


def test_a_prompt_at_which_a_server_fails_every_time_fails_alone(drive):
    provider = Provider(lambda _, prompt: ServerFault("crash") if prompt in ("7", "8") else None)
    answers, notes = drive(provider, prompts=60, concurrency=2)
    assert [number for number, answer in enumerate(answers) if answer.error] == [7, 8]
    assert {answers[7].attempts, answers[8].attempts} == {4}
    assert notes == []


def test_the_only_prompt_left_fails_after_its_retries(drive):
    answers, _ = drive(Provider(away(0, HOUR)), prompts=1)
    assert [(type(answer.error), answer.attempts) for answer in answers] == [(ServerFault, 4)]


def test_single_errors_of_a_busy_server_hold_nothing_up(drive):
    dice = random.Random(5)
    provider = Provider(lambda *_: ServerFault("oops") if dice.random() < 0.1 else None)
    answers, notes = drive(provider, prompts=3000, retries=5)
    assert all(answer.reply for answer in answers)
    assert notes == []


@pytest.mark.parametrize("error", [KeyRejected, QuotaSpent])
def test_what_no_time_mends_stops_a_model_at_once(drive, error):
    provider = Provider(lambda *_: error("no"))
    answers, _ = drive(provider)
    assert {type(answer.error) for answer in answers} == {error}
    assert len(provider.sent) == 1


def test_a_key_that_is_rejected_while_others_wait_for_the_provider_stops_them_too(drive):
    def fails(now, _):
        return ServerFault("down") if 1 <= now < 10 else KeyRejected("expired") if now >= 10 else None

    answers, _ = drive(Provider(fails))
    assert {type(answer.error) for answer in answers if answer.error} == {KeyRejected}


@pytest.mark.parametrize("error", [RequestRejected, BrokenReply])
def test_ten_that_cannot_be_used_in_a_row_stop_a_model(drive, error):
    provider = Provider(lambda *_: error("no"))
    answers, _ = drive(provider, prompts=15, concurrency=1, retries=0)
    kinds = [type(answer.error) for answer in answers]
    assert kinds.count(error) + kinds.count(KeptFailing) == 15
    assert 10 <= kinds.count(error) <= 13  # with those in flight
    assert "10 requests in a row" in str(answers[-1].error)


def test_one_success_among_rejections_is_enough_to_go_on(drive):
    provider = Provider(lambda _, prompt: None if int(prompt) % 8 == 0 else RequestRejected("no"))
    answers, _ = drive(provider, prompts=40, concurrency=1, retries=0)
    assert len(provider.sent) == 40
    assert not any(isinstance(answer.error, KeptFailing) for answer in answers)


def test_one_that_refuses_for_longer_than_a_run_waits_stops_its_model(drive):
    provider = Provider(lambda now, _: RateLimited("slow down", 5.0) if now >= 1 else None)
    answers, _ = drive(provider, patience_s=600)
    assert QuotaResting in {type(answer.error) for answer in answers}
    assert "throttled since" in str(answers[-1].error)
    assert provider.sent[-1][0] < 700


def test_without_retries_a_failure_is_final(drive):
    answers, _ = drive(Provider(away(1, 5)), concurrency=4, retries=0)
    assert all(answer.attempts <= 1 for answer in answers)
    assert 0 < sum(answer.error is not None for answer in answers) <= 60
