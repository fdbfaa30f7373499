"""Fine-tuning as a Prefect flow: at a provider, which is waited for, or on this machine."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from prefect import get_run_logger
from prefect.artifacts import acreate_markdown_artifact
from prefect.runtime import flow_run

from biasgrid.flows.finetuning.options import PARAMETERS, TuningOptions
from biasgrid.flows.finetuning.prepare import (
    PreparedTuning,
    TuningOutcome,
    local_outcome,
    outcome,
    prepare_tuning,
    progress_listener,
)
from biasgrid.flows.operations.environment import secret_blocks
from biasgrid.flows.runs.driver import run_flow
from biasgrid.flows.runs.prepare import open_lake
from biasgrid.flows.terminal.markdown import plain, table
from biasgrid.tasks.connectors.batch.fine_tuning import connect
from biasgrid.tasks.connectors.client.retry import PollPolicy
from biasgrid.tasks.connectors.keys import Secrets, find_key
from biasgrid.tasks.connectors.task import artifact_key
from biasgrid.tasks.finetuning.dataset import tuned_folder
from biasgrid.tasks.finetuning.local import LocalOrder, tune_here
from biasgrid.tasks.finetuning.order import Order
from biasgrid.tasks.finetuning.tune import tune
from biasgrid.warehouse.storage.lake import Lake

GOES_ON = "the same order takes it up again"


@run_flow(
    TuningOptions, PARAMETERS, "finetune", lambda: f"finetune · {flow_run.parameters.get('model')}", model=...
)
async def finetune(given: TuningOptions) -> TuningOutcome:
    """Tune a model on assignments with and without implicit bias. The same order again resumes its job, or
    shows its result; nothing is paid twice. The artifact `finetune-summary` shows how it ended.
    """
    prepared = await asyncio.to_thread(prepare_tuning, given, secret_blocks())
    lake = open_lake(given.data)
    found = await _tune(prepared, lake)
    await _publish(found)
    get_run_logger().info("%s: %s", found.state, found.model or found.why or found.how)
    return found


async def _tune(prepared: PreparedTuning, lake: Lake) -> TuningOutcome:
    order = prepared.order
    if isinstance(order, LocalOrder):
        folder = tuned_folder(lake, order.name)
        await asyncio.to_thread(tune_here, order, lake, folder, _report)
        return local_outcome(order, folder)
    return await _at_provider(order, lake, prepared.secrets)


async def _at_provider(order: Order, lake: Lake, secrets: Secrets | None) -> TuningOutcome:
    patience = replace(PollPolicy.from_environment(), notify=_report, remedy=GOES_ON)
    tunings = connect(order.target, find_key(order.target, secrets))
    try:
        job = await tune(lake, order, tunings, patience, _report)
    finally:
        await tunings.close()
    return outcome(order, job, tuned_folder(lake, order.id))


def _report(words: str) -> None:
    get_run_logger().info("%s", words)
    if listen := progress_listener.get():
        listen(words)


async def _publish(found: TuningOutcome) -> None:
    """Names and a provider's words are escaped."""
    rows = [("tuned from", found.base), ("ended as", found.state), ("model", found.model or "–")]
    rows += [("why", found.why)] if found.why else []
    rows += [("files", found.folder)]
    page = "\n\n".join((f"# {plain(found.model or found.base)}", table(("", ""), rows), plain(found.how)))
    key, about = artifact_key("finetune-summary", found.base), f"{plain(found.base)}: {found.state}"
    await acreate_markdown_artifact(page, key, about)
