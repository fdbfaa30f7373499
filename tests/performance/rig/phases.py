"""The prompting phase alone, and what it is measured against. Each asks `count` prompts `concurrency` at once."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

    from biasgrid.catalogs.schema.models import Target
    from biasgrid.tasks.connectors.client.model_pool import ModelPool
    from biasgrid.warehouse.storage.lake import Lake

CELLS = 28
"""As many as seven concerns have, with two inputs and two reflections each."""
Phase = Callable[[], Awaitable[None]]


@dataclass(frozen=True)
class Load:
    base_url: str
    count: int
    concurrency: int
    cells: int = CELLS

    def bodies(self) -> Iterator[dict[str, Any]]:
        for number in range(self.count):
            content = f"Case {number}: are people of group 1 less able than others are? Answer Yes or No."
            yield {
                "model": "m",
                "messages": [{"role": "user", "content": content}],
                "temperature": 1.0,
                "max_tokens": 60,
            }


@asynccontextmanager
async def bare_aiohttp(load: Load) -> AsyncIterator[Phase]:
    """The floor: nothing but the bytes there and back, read as JSON."""
    import aiohttp

    async def phase() -> None:
        waiting = load.bodies()
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=load.concurrency)) as session:

            async def worker() -> None:
                for body in waiting:
                    async with session.post(f"{load.base_url}/chat/completions", json=body) as reply:
                        await reply.json()

            await asyncio.gather(*(worker() for _ in range(load.concurrency)))

    yield phase


@asynccontextmanager
async def sdk_loop(load: Load) -> AsyncIterator[Phase]:
    """What a good script does: openai's client on its fastest transport, fixed workers over one iterator."""
    import openai

    async def phase() -> None:
        waiting = load.bodies()
        transport = openai.DefaultAioHttpClient()
        client = openai.AsyncOpenAI(api_key="none", base_url=load.base_url, max_retries=0, http_client=transport)
        async with client:

            async def worker() -> None:
                for body in waiting:
                    await client.chat.completions.create(**body)

            await asyncio.gather(*(worker() for _ in range(load.concurrency)))

    yield phase


@asynccontextmanager
async def sequential(load: Load) -> AsyncIterator[Phase]:
    """LangBiTe's way: one question after another."""
    import openai

    async def phase() -> None:
        with openai.OpenAI(api_key="none", base_url=load.base_url, max_retries=0) as client:
            for body in load.bodies():
                client.chat.completions.create(**body)

    yield phase


@asynccontextmanager
async def biasgrid(load: Load) -> AsyncIterator[Phase]:
    """Cells through switchboard, workers and journal into the lake, one let begin by another as in a run."""
    from biasgrid.catalogs.loading.catalog import load_catalog
    from biasgrid.catalogs.schema.models import Limits, Target
    from biasgrid.tasks.connectors.client.model_pool import ModelPool
    from biasgrid.warehouse.storage.lake import Lake

    limits = Limits(concurrency=load.concurrency)
    address = {"connector": "openai", "base_url": load.base_url}
    target = Target(model="loopback/m", provider="loopback", name="m", limits=limits, **address)
    catalog = load_catalog()
    with tempfile.TemporaryDirectory() as folder:
        lake = Lake.open(Path(folder))
        cells = [f"cell-{number}" for number in range(load.cells)]
        for cell_id, cases in zip(cells, _cases(load), strict=True):
            lake.write("cases", "run", cell_id, cases)

        async def phase() -> None:
            async with ModelPool(catalog) as model_pool:
                await _prompt_cells(lake, cells, target, model_pool)

        yield phase
        landed = lake.read("responses", "run").drop_nulls("text").height
        assert landed == load.count, f"{landed} of {load.count} replies landed"


async def _prompt_cells(lake: Lake, cells: list[str], target: Target, model_pool: ModelPool) -> None:
    from biasgrid.flows.runs.cells import Line
    from biasgrid.tasks.prompt.prompt import prompt_cell

    line = Line.of(target)

    async def cell(cell_id: str) -> None:
        async with line.begun() as under_way:
            cases = await asyncio.to_thread(lake.read, "cases", "run", cell_id)
            await prompt_cell(lake, cases, target, model_pool, retries=3, under_way=under_way)

    await asyncio.gather(*map(cell, cells))


def _cases(load: Load) -> list[pl.DataFrame]:
    import polars as pl

    content = pl.format("Case {}: are people of group 1 less able than others are? Answer Yes or No.", "number")
    message = pl.struct(role=pl.lit("user"), content=content)
    named = {name: pl.lit(name) for name in ("requirement", "concern", "language", "input", "reflection")}
    cases = pl.DataFrame({"sample": [1] * load.count}).with_row_index("number")
    rows = cases.with_columns(
        run_id=pl.lit("run"),
        cell_id=pl.format("cell-{}", pl.col("number") % load.cells),
        provider=pl.lit("loopback"),
        model=pl.lit("loopback/m"),
        case_id=pl.format("case-{}", "number"),
        instance_id=pl.format("case-{}", "number"),
        template_id=pl.format("template-{}", pl.col("number") // 8),
        request_key=pl.format("key-{}", "number"),
        parameters=pl.lit('{"temperature":1.0,"max_tokens":60}'),
        messages=pl.concat_list(message),
        **named,
    )
    return rows.drop("number").partition_by("cell_id", maintain_order=True)


CONTENDERS = {"aiohttp": bare_aiohttp, "SDK loop": sdk_loop, "biasgrid": biasgrid, "sequential": sequential}
