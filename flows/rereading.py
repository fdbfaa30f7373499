"""A probe whose stored replies are read again, by today's catalog: readings beside the earlier ones."""

from __future__ import annotations

from dataclasses import replace

from prefect import flow
from prefect.runtime import flow_run
from ulid import ULID

from flows.benchmark import aggregated
from flows.in_words import in_words
from flows.inspecting import inspecting
from flows.preparation import existing_lake, prepared_before
from flows.probe import read_beside
from flows.probe_outcome import ProbeOutcome, ended, probe_outcome
from flows.probe_pages import publish
from flows.probing import PreparedProbe, prepare_probe
from flows.rejudging import ENDED
from flows.secrets import secret_blocks
from flows.under_way import under_way
from warehouse.expectations.inspector import Inspector
from warehouse.lake import Lake
from warehouse.planned import planned_cells
from warehouse.runs import Run, State, find, refuse_other_kinds


def _name() -> str:
    return f"read again · {flow_run.parameters['run_id']}"


@flow(name="read again", flow_run_name=_name, persist_result=False)
@in_words
async def read_again(run_id: str, data: str | None = None, expectations: bool = False) -> ProbeOutcome:
    """Read the stored replies of a probe again; nobody is asked. Earlier readings stay, the newest one counts.

    Args:
        run_id: the probe; a beginning or end that only one run has will do
        data: directory or `s3://bucket/prefix` of the lake and the warehouse
        expectations: the new warehouse replaces the old one only if lake and marts are as expected
    """
    lake = existing_lake(data)
    run = find(lake, run_id)
    refuse_other_kinds(run, "reading again", "probe")
    prepared = prepared_before(PreparedProbe) or prepared_again(run)
    async with under_way(lake, prepared, run.run_id, asks=False) as grid:
        with inspecting(expectations) as inspector:
            again = replace(grid, again=str(ULID()))
            cells = planned_cells(lake, run.run_id)
            await read_beside(again, cells, ask=False)
            found = await _concluded(lake, run, inspector)
        await publish(found, prepared.resolved.name)
    return ended(found)


def prepared_again(run: Run) -> PreparedProbe:
    """A probe as its file was resolved, with the catalog of today. Raises UserMistake where it fits no more."""
    return prepare_probe(run.scenario_resolved, secrets=secret_blocks())


async def _concluded(lake: Lake, run: Run, inspector: Inspector | None) -> ProbeOutcome:
    """A run stays as it ended, unless its replies now make it complete, or do not any more."""
    await aggregated(lake, run.run_id, inspector)
    found = probe_outcome(lake, run.run_id)
    state: State = "incomplete" if found.incomplete else "completed"
    if run.state in ENDED and run.state != state:
        run.record(lake, state)
        await aggregated(lake, run.run_id, inspector, f"aggregate · marked as {state}")
    return found
