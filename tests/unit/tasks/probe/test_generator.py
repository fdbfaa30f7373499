"""A generator's replies land before they are read; a run that goes on has the same ones."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.scenario.targets import ResolvedProbe, resolve_probe
from biasgrid.tasks.connectors.client.model_pool import ModelPool
from biasgrid.tasks.connectors.generator import PartRequest, Sender
from biasgrid.tasks.connectors.json_objects import RejectedText
from biasgrid.tasks.connectors.simulated.panel import Panel, Question
from biasgrid.tasks.probe.proposals import Reader
from biasgrid.tasks.probe.request import Earlier, Part, ask, build_requests, split_order
from biasgrid.warehouse.storage.lake import Lake
from support.generator import Writer

LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
Asked = Callable[[str], list[PartRequest[Part]]]


@pytest.fixture(scope="module")
def resolved() -> ResolvedProbe:
    return resolve_probe({"target": {"models": ["simulated/fair"]}, "probe": {"generator": "simulated/fair"}})


@pytest.fixture
def asked(resolved: ResolvedProbe, catalog: Catalog) -> Asked:
    assert resolved.generator is not None
    target, described = resolved.generator, resolved.file.target
    parts = split_order("en_us", catalog.probes, 12)
    return lambda run_id: build_requests(run_id, parts, described, target, resolved)


async def send(
    lake: Lake, wanted: list[PartRequest[Part]], resolved: ResolvedProbe, generator: Writer, **how: Any
) -> list[str | None]:
    assert resolved.generator is not None
    async with ModelPool(resolved.catalog, connect=generator.connect) as model_pool:
        rows = await ask(lake, wanted, Sender(resolved.generator, model_pool, 0), **how)
    return [rows[each.key]["text"] if each.key in rows else "nothing" for each in wanted]


async def test_replies_land_as_the_runs_own(tmp_path, asked, resolved):
    lake = Lake(tmp_path)
    assert await send(lake, asked("a"), resolved, Writer()) == ["[] 1", "[] 2"]
    rows = lake.read("responses", "a")
    assert set(rows["purpose"]) == {"generator"}
    assert set(rows["cell_id"]) == {"generator-en_us"}
    assert sorted(rows["text"]) == ["[] 1", "[] 2"]


async def test_a_run_that_goes_on_has_the_same(tmp_path, asked, resolved):
    lake, again = Lake(tmp_path), Writer()
    first = await send(lake, asked("a"), resolved, Writer())
    assert await send(lake, asked("a"), resolved, again, may_ask=False) == first
    assert await send(lake, asked("a"), resolved, again) == first
    assert again.asked == []


async def test_only_what_is_missing_is_asked_for(tmp_path, asked, resolved):
    lake, again = Lake(tmp_path), Writer()
    first = await send(lake, asked("a")[:1], resolved, Writer())
    assert await send(lake, asked("a"), resolved, again) == [*first, "[] 1"]
    assert len(again.asked) == 1


async def test_a_planned_run_asks_for_nothing_more(tmp_path, asked, resolved):
    generator = Writer()
    reported = await send(Lake(tmp_path), asked("a"), resolved, generator, may_ask=False)
    assert (reported, len(generator.asked)) == (["nothing", "nothing"], 0)


async def test_another_run_asks_anew_unless_replies_may_stand_in(tmp_path, asked, resolved):
    lake, other, spared = Lake(tmp_path), Writer(), Writer()
    first = await send(lake, asked("a"), resolved, Writer())
    await send(lake, asked("b"), resolved, other)
    assert len(other.asked) == 2
    earlier = Earlier(LONG_AGO, lake.read("responses", "a")["received_at"].max())  # type: ignore[arg-type]
    assert await send(lake, asked("c"), resolved, spared, earlier=earlier) == first
    assert spared.asked == []
    rows = lake.read("responses", "c")
    assert set(rows["reused_from"]) == set(lake.read("responses", "a")["response_id"])
    assert (rows["cost_usd"].sum(), set(rows["attempts"])) == (0, {0})


async def test_a_failure_lands_and_is_asked_again(tmp_path, asked, resolved):
    lake, broken = Lake(tmp_path), Writer()
    broken.broken = True
    assert await send(lake, asked("a"), resolved, broken) == [None, None]
    assert set(lake.read("responses", "a")["error_class"].drop_nulls()) == {"KeyRejected"}
    assert await send(lake, asked("a"), resolved, Writer()) == ["[] 1", "[] 2"]


@pytest.mark.parametrize("name", ["fair", "noisy"])
def test_a_simulated_generator_proposes_what_can_be_asked(catalog, asked, name):
    panel = Panel(catalog)
    reader = Reader(catalog, "en_us", catalog.probes)
    for each in asked("a"):
        question = Question(panel.respondent(name), each.case["messages"][0]["content"], 1)
        found = list(reader.read(panel.reply(question).text))
        assert len(found) == each.part.count
        assert not [one for one in found if isinstance(one, RejectedText)]


def test_one_that_declines_proposes_nothing(catalog, asked):
    panel = Panel(catalog)
    question = Question(panel.respondent("refuser"), asked("a")[0].case["messages"][0]["content"], 1)
    (found,) = Reader(catalog, "en_us", catalog.probes).read(panel.reply(question).text)
    assert isinstance(found, RejectedText)
