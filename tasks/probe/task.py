"""Prefect task that loads a probe's pairs: one run per language."""

from __future__ import annotations

from dataclasses import dataclass

from prefect import task

from biasgrid.catalogs.scenario.resolution import Resolved
from biasgrid.catalogs.schema.models import Target
from biasgrid.catalogs.schema.target_file import TargetFile
from biasgrid.catalogs.text_safety import excerpt
from biasgrid.tasks.connectors.client.model_pool import ModelPool
from biasgrid.tasks.connectors.generator import Sender
from biasgrid.tasks.connectors.task import UNCACHED_TASK, Label
from biasgrid.tasks.probe.loader import Loaded, Loader
from biasgrid.tasks.probe.request import Earlier, ask, build_requests
from biasgrid.warehouse.storage.lake import Lake


@dataclass(frozen=True, slots=True)
class Load:
    """The generator requests for one language of a probe."""

    run_id: str
    language: str
    file: TargetFile
    resolved: Resolved
    generator: Target
    earlier: Earlier | None = None
    """Replies of other runs that may be reused; None: no reuse."""
    may_ask: bool = True
    """False if the run is already planned, since its pairs are then fixed."""

    async def run(self, lake: Lake, model_pool: ModelPool) -> Loaded:
        described, settings = self.file.target, self.resolved.settings
        loader = Loader(self.resolved.catalog, described, self.file.probe, self.language, settings.seed)
        requests = build_requests(self.run_id, loader.parts(), described, self.generator, self.resolved)
        sender = Sender(self.generator, model_pool, settings.retries)
        found = await ask(lake, requests, sender, self.earlier, self.may_ask)
        rows = [found[each.key] for each in requests if each.key in found]
        texts = [row["text"] for row in rows if row["text"] is not None]
        failed = dict.fromkeys(excerpt(str(row["error_message"]), 300) for row in rows if row["text"] is None)
        lost = len(requests) - len(rows)
        why = [*failed, *([f"{lost} requests had no reply when the run was planned"] if lost else [])]
        return loader.load(texts, why)


@task(name="load", **UNCACHED_TASK)
async def load(lake: Lake, wanted: Load, model_pool: ModelPool, label: Label = Label("load")) -> Loaded:  # noqa: B008
    """Loads the stereotypes from a generator; landed replies are read again with the same result."""
    label.attach()
    return await wanted.run(lake, model_pool)
