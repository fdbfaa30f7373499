"""Replies land as they come, and nothing is paid twice."""

import asyncio
from collections.abc import Callable

import pytest

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.augment.order import Order
from biasgrid.tasks.augment.prompts import KIND, TOKENS, Replies, Request, ask, build_request
from biasgrid.tasks.connectors.client.model_pool import ModelPool
from biasgrid.tasks.connectors.generator import Generator
from biasgrid.warehouse.storage.journal import Journal
from biasgrid.warehouse.storage.lake import Lake
from support.generator import Writer

Ordered = Callable[..., Order]


@pytest.fixture
def target(catalog: Catalog) -> Target:
    return catalog.target("simulated/fair")


@pytest.fixture
def asked(ordered: Ordered, target: Target, catalog: Catalog) -> Request:
    return build_request(ordered(count=25), Generator(KIND, target, catalog, 0, TOKENS, 0.7))


async def send(lake: Lake, asked: Request, writer: Writer) -> Replies:
    async with ModelPool(asked.generator.catalog, connect=writer.connect) as model_pool:
        return await ask(lake, asked, model_pool)


async def test_every_reply_lands_as_received_with_its_purpose(tmp_path, asked):
    found = await send(Lake(tmp_path), asked, Writer())
    rows = Lake(tmp_path).read("responses")
    assert set(rows["purpose"]) == {"generator"}
    assert sorted(rows["text"]) == ["[] 1", "[] 2", "[] 3"]
    assert {row["text"] for row in found.answered.values()} == set(rows["text"])
    assert set(rows["request_key"]) == {each.key for each in asked.parts}
    assert rows["messages"][0][0]["content"].startswith("You write test questions")
    assert '"temperature":0.7' in rows["parameters"][0]
    assert Lake(tmp_path).runs() == []


async def test_the_same_order_is_answered_from_the_lake(tmp_path, asked):
    lake, again = Lake(tmp_path), Writer()
    first = await send(lake, asked, Writer())
    second = await send(lake, asked, again)
    assert again.asked == []
    assert second.kept == {each.key for each in asked.parts}
    assert {key: row["text"] for key, row in second.answered.items()} == {
        key: row["text"] for key, row in first.answered.items()
    }


def test_another_seed_temperature_or_model_is_another_order(ordered, catalog):
    def key(seed: int = 0, temperature: float | None = None, model: str = "simulated/fair") -> str:
        generator = Generator(KIND, catalog.target(model), catalog, seed, TOKENS, temperature)
        return build_request(ordered(seed=seed), generator).parts[0].key

    assert key() == key()
    assert len({key(), key(seed=1), key(temperature=0.5), key(model="simulated/biased")}) == 4


def test_a_model_that_takes_no_seed_is_asked_anew_all_the_same(ordered, target, catalog):
    seedless = target.model_copy(update={"parameters": ("max_tokens",)})
    keys = {
        build_request(ordered((), seed=seed), Generator(KIND, seedless, catalog, seed, TOKENS)).parts[0].key
        for seed in (0, 1)
    }
    assert len(keys) == 2


async def test_an_interruption_keeps_what_arrived_and_waits_for_what_is_in_flight(tmp_path, asked):
    lake, writer = Lake(tmp_path), Writer()
    writer.stalled_after = 1
    asking = asyncio.create_task(send(lake, asked, writer))
    await writer.busy.wait()
    asking.cancel()
    asyncio.get_running_loop().call_later(0.1, writer.resume.set)
    with pytest.raises(asyncio.CancelledError):
        await asking
    again = Writer()
    found = await send(lake, asked, again)
    assert (len(found.answered), again.asked) == (3, [])


async def test_what_a_killed_process_left_in_its_journal_counts(tmp_path, asked):
    lake, again = Lake(tmp_path), Writer()
    await send(lake, asked, Writer())
    (path,) = lake.files("responses")
    rows = lake.read("responses").to_dicts()
    path.unlink()
    journal = Journal(lake, asked.session, "generator")
    for row in rows:
        journal.append(row)
    journal.close()
    found = await send(lake, asked, again)
    assert (len(found.kept), again.asked) == (3, [])


async def test_a_failure_lands_too_and_is_asked_again(tmp_path, asked):
    lake, broken, mended = Lake(tmp_path), Writer(), Writer()
    broken.broken = True
    failed = await send(lake, asked, broken)
    assert (len(failed.answered), len(failed.failed), len(broken.asked)) == (0, 3, 1)
    assert set(lake.read("responses")["error_class"]) == {"KeyRejected"}
    found = await send(lake, asked, mended)
    assert (len(found.answered), len(mended.asked)) == (3, 3)


def test_a_long_reply_is_given_room_and_time(asked, target):
    from biasgrid.catalogs.schema.models import patient

    assert '"max_tokens":4' in asked.parts[0].case["parameters"]
    assert patient(target).limits.timeout_s >= 300
    assert patient(target).limits.concurrency == target.limits.concurrency
