"""Loads a probe's pairs from the catalog or from a generator."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from prefect.artifacts import acreate_markdown_artifact
from prefect.utilities.annotations import quote

from biasgrid.catalogs.scenario.targets import ResolvedProbe
from biasgrid.catalogs.schema.models import Target
from biasgrid.catalogs.text_safety import excerpt
from biasgrid.flows.probe.prepare import catalogued
from biasgrid.flows.rate_limits.ledger import LeaseLedger
from biasgrid.flows.rate_limits.slots import Slots
from biasgrid.flows.runs.concurrency import together
from biasgrid.flows.runs.context import Grid, teller
from biasgrid.flows.terminal.markdown import plain, table
from biasgrid.tasks.connectors.task import Label
from biasgrid.tasks.probe.generator import Earlier
from biasgrid.tasks.probe.loader import Loaded
from biasgrid.tasks.probe.stereotype import Stereotype
from biasgrid.tasks.probe.task import Load, load
from biasgrid.tasks.prompt.reuse import earliest_arrival


async def stereotypes_of(grid: Grid, resolved: ResolvedProbe) -> list[Stereotype]:
    """Stereotypes by language, identical in a resumed run."""
    if resolved.generator is None:
        return catalogued(resolved)
    ledger = LeaseLedger.of(grid.lake, grid.run.run_id, grid.part)
    async with Slots(grid.model_pool, [resolved.generator], ledger) as slots, slots.taken():
        found = await together(_load(grid, each) for each in _loads(grid, resolved, resolved.generator))
    await _tell(found, resolved.name, grid.run.run_id)
    return [one for each in found for one in each.stereotypes]


def _loads(grid: Grid, resolved: ResolvedProbe, generator: Target) -> list[Load]:
    run, settings = grid.run, resolved.settings
    earlier = Earlier(earliest_arrival(run.started_at, settings.max_age), run.started_at)
    may_ask = not grid.lake.files("cases", run.run_id)
    return [
        Load(
            run.run_id,
            language,
            resolved.file,
            resolved,
            generator,
            earlier if settings.reuse == "all" else None,
            may_ask,
        )
        for language in dict.fromkeys(resolved.file.target.languages)
    ]


async def _load(grid: Grid, wanted: Load) -> Loaded:
    label = Label(f"load · {wanted.language}", (wanted.generator.model, wanted.language, *grid.tags))
    return await load(grid.lake, cast(Load, quote(wanted)), grid.model_pool, label)


async def _tell(found: Sequence[Loaded], target: str, run_id: str) -> None:
    """Reports the pairs in the log, to the progress listener and as the artifact `probe-pairs`."""
    tell = teller()
    for each in found:
        if each.notice:
            tell(each.notice)
    told = f"{plain(target)}: what run {run_id} asks about"
    await acreate_markdown_artifact(pairs_page(found, target), "probe-pairs", told)


ASKED = ("language", "pair", "axis", "favoured", "its attribute", "stigmatised", "its attribute", "why")


def pairs_page(found: Sequence[Loaded], target: str) -> str:
    """Markdown with accepted pairs and rejected proposals with reasons; model output is escaped."""
    asked = [_asked(one) for each in found for one in each.stereotypes]
    refused = [(each.language, excerpt(one.text, 300), one.reason) for each in found for one in each.refused]
    parts = [f"# {plain(target)}", *_notices(found), table(ASKED, asked)]
    if refused:
        parts += ["## Proposed and not asked about", table(("language", "proposal", "why not"), refused)]
    return "\n\n".join(parts)


def _notices(found: Iterable[Loaded]) -> list[str]:
    return [plain(each.notice) for each in found if each.notice]


def _asked(one: Stereotype) -> tuple[str, ...]:
    sides = (one.favoured, one.stigmatised)
    told = (text for side in sides for text in (side.words.plural, side.attribute))
    return (one.language, one.pair, one.axis, *told, one.why or "the catalog's, drawn by the seed")
