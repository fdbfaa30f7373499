"""Stored replies of probes and interactions read again, by today's catalog: readings beside the earlier ones."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import cast

import polars as pl
from prefect import flow
from prefect.runtime import flow_run
from prefect.states import Completed
from ulid import ULID

from biasgrid.flows.benchmark.flow import aggregated
from biasgrid.flows.benchmark.reevaluate import ENDED
from biasgrid.flows.interaction import artifacts as interaction_artifacts
from biasgrid.flows.interaction.flow import read_cells
from biasgrid.flows.interaction.outcome import InteractionOutcome, interaction_outcome
from biasgrid.flows.interaction.prepare import PreparedInteraction, prepare_interaction
from biasgrid.flows.operations.secrets import secret_blocks
from biasgrid.flows.probe import artifacts as probe_artifacts
from biasgrid.flows.probe.flow import read_beside
from biasgrid.flows.probe.outcome import ProbeOutcome, probe_outcome
from biasgrid.flows.probe.prepare import PreparedProbe, prepare_probe
from biasgrid.flows.runs.context import Grid
from biasgrid.flows.runs.prepare import Ready, existing_lake, prepared_before
from biasgrid.flows.runs.session import under_way
from biasgrid.flows.runs.user_errors import in_words
from biasgrid.warehouse.expectations.process import Inspector, inspecting
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import Run, State, find, planned_cells, refuse_other_kinds

Found = ProbeOutcome | InteractionOutcome


@dataclass(frozen=True, slots=True)
class Reader:
    """How replies of one kind of run are read, and told."""

    prepared: type[Ready]
    prepare: Callable[..., Ready]
    read: Callable[[Grid, pl.DataFrame], Awaitable[None]]
    outcome: Callable[[Lake, str], Found]
    publish: Callable[..., Awaitable[None]]


async def _read_trials(grid: Grid, cells: pl.DataFrame) -> None:
    await read_beside(grid, cells, ask=False)


READERS: Mapping[str, Reader] = {
    "probe": Reader(PreparedProbe, prepare_probe, _read_trials, probe_outcome, probe_artifacts.publish),
    "interaction": Reader(
        PreparedInteraction, prepare_interaction, read_cells, interaction_outcome, interaction_artifacts.publish
    ),
}
"""By the kind of run."""


def _name() -> str:
    return f"read again · {flow_run.parameters['run_id']}"


@flow(name="read again", flow_run_name=_name, persist_result=False)
@in_words
async def read_again(run_id: str, data: str | None = None, expectations: bool = False) -> Found:
    """Read the stored replies of a probe or an interaction again; nobody is asked.

    Earlier readings stay, the newest one counts.

    Args:
        run_id: the run; a beginning or end that only one run has will do
        data: directory or `s3://bucket/prefix` of the lake and the warehouse
        expectations: the new warehouse replaces the old one only if lake and marts are as expected
    """
    lake = existing_lake(data)
    run = find(lake, run_id)
    refuse_other_kinds(run, "reading again", *READERS)
    reader = READERS[run.kind]
    prepared = prepared_before(reader.prepared) or prepared_again(run)
    async with under_way(lake, prepared, run.run_id, asks=False) as grid:
        with inspecting(expectations) as inspector:
            await reader.read(replace(grid, again=str(ULID())), planned_cells(lake, run.run_id))
            found = await _concluded(lake, run, reader, inspector)
        await reader.publish(found, prepared.resolved.name)
    return cast(Found, Completed(message=str(found), data=found))


def prepared_again(run: Run) -> Ready:
    """A run as its file was resolved, with the catalog of today. Raises UserError where it fits no more."""
    return READERS[run.kind].prepare(run.scenario_resolved, secrets=secret_blocks())


async def _concluded(lake: Lake, run: Run, reader: Reader, inspector: Inspector | None) -> Found:
    """A run stays as it ended, unless its replies now make it complete, or do not any more."""
    await aggregated(lake, run.run_id, inspector)
    found = reader.outcome(lake, run.run_id)
    state: State = "incomplete" if found.incomplete else "completed"
    if run.state in ENDED and run.state != state:
        run.record(lake, state)
        await aggregated(lake, run.run_id, inspector, f"aggregate · marked as {state}")
    return found
