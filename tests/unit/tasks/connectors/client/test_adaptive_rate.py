"""The pace that a server takes is found without its saying so. Real senders, simulated servers, a clock that
leaps from event to event: minutes pass in a second, and always in the same way. A server that lists the model
lets the other requests go before the first is answered.
"""

from __future__ import annotations

import asyncio
import bisect
import itertools
import math
import random
from dataclasses import dataclass, field

import pytest

from biasgrid.catalogs.schema.models import Limits
from biasgrid.tasks.connectors.api import RateLimited, Reply, ServerFault
from biasgrid.tasks.connectors.client.rate_limit import Limiter
from biasgrid.tasks.connectors.client.retry import Backoff
from biasgrid.tasks.connectors.client.sender import Sender
from support.virtual_time import VirtualLoop


@dataclass
class Server:
    """Takes every request, after `latency_s`; notes when each was sent, and when those that it took were."""

    latency_s: float = 0.1
    sent: list[float] = field(default_factory=list)
    took: list[float] = field(default_factory=list)
    ended: float = 0.0

    def refuses(self, now):
        return None

    async def ask(self, request):
        now = asyncio.get_running_loop().time()
        self.sent.append(now)
        error = self.refuses(now)
        await asyncio.sleep(self.latency_s)
        if error is not None:
            raise error
        self.took.append(now)
        return Reply("Yes")

    async def close(self): ...

    def most_in_a_minute(self, after, until=math.inf):
        """The most requests sent in any sixty seconds that begin and end between two moments."""
        begins = [at for at in self.sent if after <= at <= until - 60]
        return max(bisect.bisect_left(self.sent, at + 60) - bisect.bisect_left(self.sent, at) for at in begins)

    def goodput(self, after, until):
        """Requests taken a second."""
        return sum(after <= at < until for at in self.took) / (until - after)


@dataclass
class TokenBucket(Server):
    """`per_second`, and what it has saved up, a minute's worth at most; Retry-After in whole seconds."""

    per_second: float = 10.0
    saved: float = 600.0
    touched: float = 0.0
    rises_at: float = math.inf

    def refuses(self, now):
        rate = self.per_second * (2 if now >= self.rises_at else 1)
        self.saved = min(60 * rate, self.saved + (now - self.touched) * rate)
        self.touched = now
        if self.saved < 1:
            return RateLimited("slow down", math.ceil((1 - self.saved) / rate))
        self.saved -= 1
        return None


@dataclass
class Window(Server):
    """So many a minute, counted from minute to minute; Retry-After is the time to the next."""

    per_minute: int = 100
    rises_at: float = math.inf
    counts: dict[int, int] = field(default_factory=dict)

    def refuses(self, now):
        minute = int(now // 60)
        self.counts[minute] = self.counts.get(minute, 0) + 1
        allowed = self.per_minute * (2 if now >= self.rises_at else 1)
        return RateLimited("slow down", 60 * (minute + 1) - now) if self.counts[minute] > allowed else None


@dataclass
class Fickle(Server):
    """Refuses and fails at random, whatever is sent."""

    refused: float = 0.2
    failed: float = 0.05
    dice: random.Random = field(default_factory=lambda: random.Random(5))

    def refuses(self, now):
        thrown = self.dice.random()
        if thrown < self.refused:
            return RateLimited("slow down", 1.0)
        return ServerFault("oops") if thrown < self.refused + self.failed else None


@dataclass
class Outage(Server):
    """Refuses everything for two minutes."""

    def refuses(self, now):
        return RateLimited("slow down", 1.0) if 60 <= now < 180 else None


@pytest.fixture
def drive(target, ask):
    """Asks a server through one sender, until a moment or until so many prompts have an answer."""

    def run(server, until=math.inf, prompts=None, concurrency=64):
        limits = Limits(concurrency=concurrency)
        backoff = Backoff(jitter=random.Random(3).uniform)
        answers = []

        async def work():
            sender = Sender(server, target("scripted", "", limits=limits), Limiter.alone(limits), backoff, set())
            loop = asyncio.get_running_loop()
            waiting = iter(range(prompts)) if prompts else itertools.count()

            async def worker():
                for number in waiting:
                    if loop.time() >= until:
                        return
                    answers.append(await sender.answer(ask(str(number)), retries=3))

            await asyncio.gather(*(worker() for _ in range(4 * concurrency)))
            server.ended = loop.time()

        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            runner.run(work())
        return answers

    return run


@pytest.mark.parametrize("per_second", [1, 2, 10])
def test_a_token_buckets_limit_is_kept_after_the_first_minute_and_used(drive, per_second):
    server = TokenBucket(per_second=per_second, saved=60 * per_second)
    answers = drive(server, until=300)
    assert all(answer.reply for answer in answers)
    assert server.most_in_a_minute(after=60, until=300) <= 60 * per_second
    assert server.goodput(60, 300) >= 0.9 * per_second


@pytest.mark.parametrize("per_minute", [20, 100, 1000])
def test_a_windows_limit_is_kept_after_the_first_minute_and_used(drive, per_minute):
    server = Window(per_minute=per_minute)
    answers = drive(server, until=360)
    assert all(answer.reply for answer in answers)
    assert server.most_in_a_minute(after=60, until=360) <= per_minute
    assert server.goodput(60, 360) >= 0.9 * per_minute / 60


def test_refusals_at_random_cost_no_more_than_themselves(drive):
    server = Fickle()
    answers = drive(server, prompts=6000)
    assert all(answer.reply for answer in answers)
    assert len(server.sent) <= 1.4 * 6000


def test_refusals_at_random_slow_nothing_down_for_long(drive):
    server = Fickle(latency_s=1.0)
    drive(server, until=600, concurrency=16)
    natural = 16 * (1 - 0.2 - 0.05)
    assert server.goodput(0, 600) >= 0.9 * natural
    assert server.goodput(540, 600) >= 0.9 * natural


@pytest.mark.parametrize(
    ("server", "risen"),
    [(TokenBucket(per_second=4, saved=240, rises_at=120), 8), (Window(per_minute=100, rises_at=120), 200 / 60)],
)
def test_a_limit_that_has_risen_is_found_within_minutes(drive, server, risen):
    drive(server, until=780)
    assert server.goodput(600, 780) >= 0.85 * risen


def test_looking_for_a_risen_limit_exceeds_the_old_one_by_little_and_seldom(drive):
    server = Window(per_minute=100)
    drive(server, until=1800)
    assert server.most_in_a_minute(after=60) <= 115
    assert len(server.sent) - len(server.took) <= 200
    assert server.goodput(60, 1800) >= 0.9 * 100 / 60


def test_a_limit_that_falls_is_followed(drive):
    server = TokenBucket(per_second=10, saved=600)
    falling = server.refuses

    def refuses(now):
        if now >= 120 and server.per_second == 10:
            server.per_second, server.saved = 2, 0
        return falling(now)

    server.refuses = refuses
    drive(server, until=400)
    assert server.most_in_a_minute(after=240, until=400) <= 120
    assert server.goodput(240, 400) >= 0.85 * 2


def test_where_nothing_is_refused_nothing_is_slowed(drive):
    server = Fickle(refused=0.0)
    drive(server, until=30, concurrency=16)
    assert len(server.sent) / server.ended >= 0.97 * 160


def test_a_provider_that_is_back_after_two_minutes_is_asked_as_before(drive):
    server = Outage()
    answers = drive(server, until=260, concurrency=8)
    assert all(answer.reply for answer in answers)
    assert server.goodput(230, 260) >= 0.8 * 80
    assert sum(60 <= at < 180 for at in server.sent) < 500


UNLISTED = [None, {"data": [{"id": "another-model"}, "some-model", {}]}, {"data": "some-model"}, ["some-model"]]


@pytest.fixture
def sender(reach, target):
    def make(connector="openai"):
        limits = Limits()
        one, model = reach(connector, limits=limits), target(connector, "", limits=limits)
        return Sender(one, model, Limiter.alone(limits), Backoff(alone_s=3600), set())

    return make


async def answers(one, ask, count=3):
    """Of requests that are made at once; the first is that of the first task."""
    return [asyncio.create_task(one.answer(ask(str(number)), 0)) for number in range(count)]


async def test_where_the_server_lists_the_model_no_one_waits_for_the_first(server, sender, ask):
    server.models = {"object": "list", "data": [{"id": "another-model"}, {"id": "some-model"}]}
    server.then(server.stalls())
    first, *others = await answers(sender(), ask)
    async with asyncio.timeout(10):
        received = await asyncio.gather(*others)
    assert [answer.reply.text for answer in received] == ["Yes", "Yes"]
    assert not first.done()
    server.stopping.set()
    await first


@pytest.mark.parametrize("models", UNLISTED)
async def test_where_it_does_not_the_first_is_waited_for(server, sender, ask, models):
    server.models = models
    server.delay_s = 0.05
    server.then(server.fails(401))
    received = await asyncio.gather(*await answers(sender(), ask))
    assert len(server.received) == 1
    assert {type(answer.error).__name__ for answer in received} == {"KeyRejected"}


async def test_who_looks_the_model_up_does_not_wait_for_a_list_that_never_comes(server, sender, ask):
    server.models = server.stopping
    async with asyncio.timeout(10):
        received = await asyncio.gather(*await answers(sender(), ask))
    assert [answer.reply.text for answer in received] == ["Yes"] * 3


async def test_what_an_azure_resource_could_deploy_is_not_what_it_answers_for(server, sender, ask):
    server.models = {"data": [{"id": "some-model"}]}
    server.delay_s = 0.05
    server.then(server.fails(404, code="DeploymentNotFound"))
    await asyncio.gather(*await answers(sender("azure"), ask))
    assert len(server.received) == 1
