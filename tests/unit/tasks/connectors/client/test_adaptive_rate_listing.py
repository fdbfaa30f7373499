"""A server that lists the model lets the other requests go before the first is answered."""

from __future__ import annotations

import asyncio

import pytest

from biasgrid.catalogs.schema.models import Limits
from biasgrid.tasks.connectors.client.rate_limit import Limiter
from biasgrid.tasks.connectors.client.retry import Backoff
from biasgrid.tasks.connectors.client.sender import Sender

UNLISTED = [
    None,
    {"data": [{"id": "another-model"}, "some-model", {}]},
    {"data": "some-model"},
    ["some-model"],
]


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
