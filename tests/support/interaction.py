"""Plays of the shipped scenes, and agents that say what a test wants."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.scenario.interaction import ResolvedInteraction, resolve_interaction
from biasgrid.catalogs.schema.models import Limits, Prices, Target
from biasgrid.tasks.connectors.api import Connector, ConnectorError, Reply, Request
from biasgrid.tasks.connectors.client.model_pool import ModelPool
from biasgrid.tasks.connectors.client.retry import Backoff
from biasgrid.tasks.connectors.client.run_budget import RunBudget
from biasgrid.tasks.connectors.replaying_client import Participant
from biasgrid.tasks.interaction.converse import Played
from biasgrid.tasks.interaction.plan import Player, plays
from biasgrid.tasks.interaction.play import Play
from biasgrid.tasks.interaction.task import PlayCell, interact_cell
from biasgrid.warehouse.storage.lake import Lake

RUN = "01M00000000000000000000001"
WITHHELD = "withheld"
"""The reply of a model whose provider withholds it."""
ReplyTo = Callable[[Request], str | ConnectorError]


def party(name: str, concurrency: int = 16) -> Participant:
    target = Target(
        model=f"own/{name}",
        provider="own",
        name=name,
        connector="own",
        prices=Prices(input=1, output=1),
        limits=Limits(concurrency=concurrency),
    )
    return Participant(target, name, max_tokens=50)


@dataclass
class Company:
    """Agents of any number of models. What each was sent is kept in the order of sending."""

    reply_to: ReplyTo = lambda request: f"reply {request.request_key[:8]}"
    pause_s: float = 0.001
    asked: list[tuple[str, Request]] = field(default_factory=list)
    """Model and request."""
    at_once: list[int] = field(default_factory=list)
    """How many requests of its play were in flight when each of `asked` was sent, itself among them."""
    under_way: Counter[str] = field(default_factory=Counter)
    """By how the scene was described."""

    def __call__(self, target: Target, key: str | None, catalog: Catalog) -> Connector:
        return _Model(self, target.name)

    @property
    def keys(self) -> set[str]:
        return {request.request_key for _, request in self.asked}


@dataclass
class _Model:
    company: Company
    name: str

    async def ask(self, request: Request) -> Reply:
        company, scene = self.company, next(one.content for one in request.messages if one.role == "user")[:400]
        company.asked.append((self.name, request))
        company.under_way[scene] += 1
        company.at_once.append(company.under_way[scene])
        await asyncio.sleep(company.pause_s)
        company.under_way[scene] -= 1
        text = company.reply_to(request)
        if isinstance(text, ConnectorError):
            raise text
        ended = "content_filter" if text == WITHHELD else "stop"
        return Reply("" if text == WITHHELD else text, ended, input_tokens=10, output_tokens=10)

    async def close(self) -> None:
        pass


@cache
def resolve_file(file: str) -> ResolvedInteraction:
    return resolve_interaction(json.loads(file))


@dataclass
class Stage:
    """Where plays are planned and played."""

    catalog: Catalog
    lake: Lake

    def resolve_file(self, **own: Any) -> ResolvedInteraction:
        asking = own.pop("asking", {"seed": 7})
        usual = {"models": ["simulated/fair"], "scenes": ["office-server-migration"], "runs": 1}
        return resolve_file(json.dumps({"interaction": usual | own, "asking": asking}))

    def plays(self, *models: str, run_id: str = RUN, **own: Any) -> list[Play]:
        """Of one player: a model, or a cast of several."""
        return list(plays(run_id, self.player(*models), self.resolve_file(**own)))

    def player(self, *models: str) -> Player:
        parties = tuple(party(model) for model in models or ("one",))
        return Player("own/one" if len(parties) == 1 else "cast/mixed", parties)

    async def play(
        self,
        company: Company,
        planned: Iterable[Play],
        *,
        run_budget: RunBudget | None = None,
        watch: Callable[[Played], None] = lambda _: None,
    ) -> list[Played]:
        backoff, found = Backoff(first_s=0.001, longest_s=0.002, outage_s=0.05, alone_s=0.001), list[Played]()
        async with ModelPool(self.catalog, connect=company, backoff=backoff, run_budget=run_budget) as model_pool:
            for _, own in groupby(planned, key=lambda play: play.cell_id):
                found += await interact_cell(
                    self.lake, PlayCell(planned=list(own), retries=0, watch=watch), model_pool
                )
        return found

    def rows(self) -> Sequence[Mapping[str, Any]]:
        return self.lake.read("responses", RUN).sort("session", "turn", "received_at").to_dicts()


@pytest.fixture
def stage(catalog: Catalog, tmp_path: Path) -> Stage:
    return Stage(catalog, Lake.open(tmp_path))


@pytest.fixture(scope="session")
def company() -> type[Company]:
    return Company
