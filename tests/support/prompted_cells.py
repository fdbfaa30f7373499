"""One planned cell of the shipped library, and a model that replies as a test wants."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from biasgrid.catalogs.loading.catalog import Catalog, load_catalog
from biasgrid.catalogs.schema.models import Limits, Prices, Target
from biasgrid.catalogs.schema.requirements import Requirement, ScenarioSettings
from biasgrid.tasks.connectors.api import Connector, ConnectorError, Reply, Request
from biasgrid.tasks.connectors.client.model_pool import ModelPool
from biasgrid.tasks.connectors.client.retry import Backoff
from biasgrid.tasks.generate.cases import land_cases
from biasgrid.tasks.generate.instantiate import instances
from biasgrid.warehouse.storage.lake import Lake

RUN = "01M00000000000000000000001"


@dataclass
class Model:
    """A user's own connector: a text, or what `reply_of` gives for a request, an error included."""

    reply_of: Callable[[Request], str | ConnectorError] = lambda request: "No"
    takes_s: float = 0.0
    finish_reason: str = "stop"
    asked: list[Request] = field(default_factory=list)

    def __call__(self, target: Target, key: str | None, catalog: Catalog) -> Connector:
        return self

    async def ask(self, request: Request) -> Reply:
        self.asked.append(request)
        await asyncio.sleep(self.takes_s)
        text = self.reply_of(request)
        if isinstance(text, ConnectorError):
            raise text
        return Reply(text, self.finish_reason, input_tokens=10, output_tokens=2, model_reported="as-reported")

    async def close(self) -> None:
        pass

    @property
    def keys(self) -> list[str]:
        return [request.request_key for request in self.asked]


@pytest.fixture
def model() -> type[Model]:
    return Model


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return load_catalog()


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake.open(tmp_path)


@pytest.fixture
def target() -> Target:
    prices = Prices(input=1.0, output=5.0)
    limits = Limits(concurrency=4)
    return Target(model="own/m", provider="own", name="m", connector="own", prices=prices, limits=limits)


@pytest.fixture
def planned(lake: Lake, catalog: Catalog, target: Target) -> Callable[..., pl.DataFrame]:
    """Lands the cases of one cell: `planned(requirement="strict", run_id=…)`."""

    def plan(requirement: str = "fair", run_id: str = RUN, model: Target = target) -> pl.DataFrame:
        asked = Requirement(
            name=requirement,
            concern="sexism",
            languages=("en_us",),
            communities="gender",
            inputs=("constrained",),
            reflections=("utopian",),
        )
        settings = ScenarioSettings(models=("own/m",), seed=7, temperature=0.5)
        frame = instances(asked, "en_us", catalog, settings)
        cells = land_cases(lake, run_id, frame, [model], settings, catalog)
        return lake.read("cases", run_id, cells["cell_id"][0])

    return plan


@pytest.fixture
def open_pool(catalog: Catalog) -> Callable[..., ModelPool]:
    """A switchboard whose every model is the given one, and that waits a moment only before a retry."""

    def make(connect: Any = None, **options: Any) -> ModelPool:
        backoff = Backoff(first_s=0.001, longest_s=0.002, outage_s=5, longest_probe_s=0.002)
        return ModelPool(catalog, backoff=backoff, **({"connect": connect} if connect else {}), **options)

    return make
