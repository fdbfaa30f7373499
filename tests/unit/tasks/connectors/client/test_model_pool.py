"""One door to every model: what stops one stops no other, and no question is sent twice at once."""

import asyncio

import pytest

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.schema.models import Limits
from biasgrid.tasks.connectors.api import KeyRejected, RequestRejected
from biasgrid.tasks.connectors.client.model_pool import ModelPool


@pytest.fixture
def model(target):
    def make(name="one", provider="scripted", **changes):
        return target(provider, "", model=f"{provider}/{name}", name=name, key_env=(), **changes)

    return make


@pytest.fixture
async def open_pool(catalog, quick):
    """Opens switchboards over connectors of one's own; closes them afterwards."""
    opened = []

    async def make(connect):
        opened.append(await ModelPool(catalog, backoff=quick, connect=connect).__aenter__())
        return opened[-1]

    yield make
    for each in opened:
        await each.__aexit__(None, None, None)


async def test_a_real_sdk_is_reached_with_the_key_of_the_environment(server, target, catalog, ask, key, quick):
    async with ModelPool(catalog, backoff=quick) as model_pool:
        server.then(server.fails(500), server.drops())
        answer = await model_pool.answer(target("openai", server.url), ask(), retries=3)
    assert answer.reply is not None
    assert (answer.reply.text, answer.attempts) == ("Yes", 3)
    assert server.received[0].headers["authorization"] == f"Bearer {key}"


async def test_after_a_bad_key_nothing_more_is_sent_to_that_model(server, target, catalog, ask, key, quick):
    bad = target("openai", server.url)
    good = target("huggingface", server.url)
    server.then(server.fails(401))
    async with ModelPool(catalog, backoff=quick) as model_pool:
        first = await model_pool.answer(bad, ask("a"), retries=3)
        second = await model_pool.answer(bad, ask("b"), retries=3)
        assert (await model_pool.answer(good, ask("c"), retries=3)).reply is not None
    assert isinstance(first.error, KeyRejected)
    assert second.error is first.error
    assert (first.attempts, second.attempts, second.latency_ms) == (1, 0, None)
    assert len(server.received) == 2


async def test_a_rejected_request_stops_nothing_else(scripted, open_pool, model, ask):
    model_pool = await open_pool(scripted([RequestRejected("too long")]))
    assert isinstance((await model_pool.answer(model(), ask("a"), 3)).error, RequestRejected)
    assert (await model_pool.answer(model(), ask("b"), 3)).reply is not None


async def test_a_model_has_one_connector_for_all_its_requests(scripted, open_pool, model, ask):
    made = []

    def connect(target, key, catalog):
        made.append(target.model)
        return scripted()

    model_pool = await open_pool(connect)
    await asyncio.gather(
        *(model_pool.answer(model(name), ask(name + str(n)), 0) for name in "ab" for n in range(5))
    )
    assert sorted(made) == ["scripted/a", "scripted/b"]


@pytest.mark.parametrize(("has_own", "names", "at_once"), [(False, "abc", 2), (True, "ab", 3)])
async def test_models_of_a_provider_share_its_concurrency_but_one_with_its_own(
    scripted, open_pool, model, ask, has_own, names, at_once
):
    connector = scripted(takes_s=0.02)
    model_pool = await open_pool(connector)
    models = [model(name, limits=Limits(concurrency=2)) for name in names]
    if has_own:
        models[0] = model("a", limits=Limits(concurrency=1), own_limits=("concurrency",))
    await asyncio.gather(
        *(model_pool.answer(each, ask(each.name + str(n)), 0) for each in models for n in range(4))
    )
    assert connector.most_in_flight == at_once


@pytest.mark.parametrize(("own", "at_once"), [((), 2), (("requests_per_minute",), 4)])
async def test_requests_per_minute_are_shared_unless_they_are_a_models_own(
    scripted, open_pool, model, ask, own, at_once
):
    connector = scripted()
    model_pool = await open_pool(connector)
    two_a_second = Limits(requests_per_minute=120)
    models = [model(name, limits=two_a_second, own_limits=own) for name in "ab"]
    asked = [
        asyncio.create_task(model_pool.answer(each, ask(f"{each.name}{n}"), 0))
        for n in range(4)
        for each in models
    ]
    await asyncio.sleep(0.1)
    assert len(connector.sent) == at_once
    for task in asked:
        task.cancel()
    await asyncio.wait(asked)


@pytest.mark.parametrize("before", [True, False])
async def test_a_process_uses_its_part_of_slots_and_rates(scripted, open_pool, model, ask, before):
    connector = scripted(takes_s=0.01)
    model_pool = await open_pool(connector)
    wide = model(limits=Limits(concurrency=8, requests_per_minute=480_000))
    if before:
        model_pool.grant("scripted", 2)
    await model_pool.answer(wide, ask("first"), 0)
    model_pool.grant("scripted", 2)
    await asyncio.gather(*(model_pool.answer(wide, ask(str(n)), 0) for n in range(12)))
    assert connector.most_in_flight == 2
    model_pool.grant("scripted", 8)
    await asyncio.gather(*(model_pool.answer(wide, ask(f"again {n}"), 0) for n in range(24)))
    assert connector.most_in_flight == 8


@pytest.mark.parametrize("provider", ["openai", "azure", "huggingface", "replicate"])
async def test_a_limit_that_the_server_states_is_kept(server, target, catalog, ask, key, quick, provider):
    headers = {
        "x-ratelimit-limit-requests": "600",
        "x-ratelimit-remaining-requests": "599",
        "x-ratelimit-reset-requests": "100ms",
    }
    server.then(server.fails(400, headers))  # not 500: after some, the provider counts as away, and less is sent
    async with ModelPool(catalog, backoff=quick) as model_pool:
        model = target(provider, server.url)
        await model_pool.answer(model, ask("first"), 0)
        began = asyncio.get_running_loop().time()
        await asyncio.gather(*(model_pool.answer(model, ask(str(n)), 0) for n in range(14)))
        assert asyncio.get_running_loop().time() - began >= 0.35  # ten at once, then ten a second


async def test_the_same_question_asked_twice_at_once_is_sent_once(scripted, open_pool, model, ask):
    connector = scripted(takes_s=0.01)
    model_pool = await open_pool(connector)
    answers = await asyncio.gather(*(model_pool.answer(model(), ask(), 0) for _ in range(5)))
    assert len(connector.sent) == 1
    assert {answer.reply.text for answer in answers} == {"Yes"}
    assert [answer.shared for answer in answers] == [False, True, True, True, True]


async def test_a_question_asked_again_later_is_sent_again(scripted, open_pool, model, ask):
    connector = scripted()
    model_pool = await open_pool(connector)
    answers = [await model_pool.answer(model(), ask(), 0) for _ in range(2)]
    assert len(connector.sent) == 2
    assert not any(answer.shared for answer in answers)


async def test_where_the_sender_is_cancelled_one_who_waits_sends_instead(scripted, open_pool, model, ask):
    connector = scripted(opens=asyncio.Event())
    model_pool = await open_pool(connector)
    first, second, third = (asyncio.create_task(model_pool.answer(model(), ask(), 0)) for _ in range(3))
    await connector.reached.wait()
    first.cancel()
    await asyncio.wait([first])
    connector.opens.set()
    answers = await asyncio.gather(second, third)
    assert first.cancelled()
    assert len(connector.sent) == 2
    assert [answer.shared for answer in answers] == [False, True]


async def test_cancelling_one_who_waits_leaves_the_sender_alone(scripted, open_pool, model, ask):
    connector = scripted(opens=asyncio.Event())
    model_pool = await open_pool(connector)
    sender, waiter = (asyncio.create_task(model_pool.answer(model(), ask(), 0)) for _ in range(2))
    await connector.reached.wait()
    waiter.cancel()
    await asyncio.wait([waiter])
    connector.opens.set()
    assert (await sender).reply is not None
    assert waiter.cancelled()


async def test_a_connectors_own_bug_is_not_taken_for_an_answer(scripted, open_pool, model, ask):
    class Broken(scripted):
        async def ask(self, request):
            raise ZeroDivisionError

    model_pool = await open_pool(Broken())
    answer = await model_pool.answer(model(), ask(), 3)
    assert answer.reply is None
    assert "`ZeroDivisionError`" in str(answer.error)


async def test_preparing_finds_every_mistake_before_anything_is_sent(catalog, target, monkeypatch):
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    targets = [
        target("openai", "http://127.0.0.1:1", model="openai/a", key_env=("NO_SUCH_KEY",)),
        target("replay", "", model="replay/b", name="missing.csv", key_env=()),
        target("nowhere", "", model="nowhere/c", key_env=()),
    ]
    async with ModelPool(catalog) as model_pool:
        with pytest.raises(UserError) as caught:
            model_pool.prepare(targets)
    assert len(caught.value.mistakes) == 3
    assert all(isinstance(mistake, Problem) for mistake in caught.value.mistakes)


async def test_leaving_closes_every_connector(scripted, catalog, model, ask):
    connector = scripted()
    async with ModelPool(catalog, connect=connector) as model_pool:
        await model_pool.answer(model(), ask(), 0)
        assert not connector.closed
    assert connector.closed
