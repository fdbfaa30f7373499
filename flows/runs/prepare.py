"""Prepares a run of any kind: checked file and lake."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.scenario.resolution import Resolved
from biasgrid.catalogs.schema.models import Target
from biasgrid.catalogs.schema.requirements import ScenarioSettings
from biasgrid.flows.operations.environment import DATA, data_place
from biasgrid.tasks.connectors.keys import Secrets
from biasgrid.warehouse.schema_check import refuse_newer
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.objects.address import WHERE

R = TypeVar("R", bound=Resolved)
WORKERS_RUN = "PREFECT__FLOW_RUN_ID"
"""Set if Prefect started this process for a deployment."""


def refuse_workers_directory(place: str | Path) -> None:
    """Raises UserError if data would be stored in a worker's temporary directory."""
    if os.environ.get(WORKERS_RUN) and "://" not in str(place) and not Path(place).expanduser().is_absolute():
        what = f"`{place}` would lie in a directory that goes when this run ends"
        remedy = "name an absolute directory, or s3://bucket/prefix, in the worker's environment or the deployment"
        raise UserError(Problem(what, f"data or {DATA}", remedy))


@dataclass(frozen=True)
class Prepared(Generic[R]):
    """A checked file ready to run."""

    resolved: R
    secrets: Secrets | None = None

    @property
    def models(self) -> list[Target]:
        """Every model requested, the judge included."""
        return self.resolved.asked


prepared_run: ContextVar[Prepared[Any] | None] = ContextVar("at_hand", default=None)
"""What the command line has prepared, for the flow that it starts in this process."""


def prepared_before(kind: str) -> Prepared[Any] | None:
    """The file prepared by the command line, if it is of this kind."""
    found = prepared_run.get()
    return found if found and found.resolved.kind == kind else None


def refuse_unnamed(source: Any) -> Any:
    """The source, where there is one. Raises UserError for None."""
    if source is None:
        remedy = "name a `scenario`, or the `run_id` to go on with"
        raise UserError(Problem("nothing is named to run", "scenario", remedy))
    return source


def cap_problems(models: Iterable[Target], settings: ScenarioSettings) -> list[Problem]:
    """Problems of caps and ages: cost without a price, an age without reuse of other runs."""
    mistakes: list[Problem] = []
    unknown = [target.model for target in models if target.prices is None]
    if settings.max_cost is not None and unknown:
        named = ", ".join(f"`{model}`" for model in unknown)
        remedy = "add `prices` in a models.yaml that BIASGRID_CATALOG names, or cap with `max_requests`"
        mistakes.append(Problem(f"`max_cost` cannot hold: the price of {named} is unknown", "--max-cost", remedy))
    if settings.max_age is not None and settings.reuse != "all":
        what = (
            f"`max_age` states how old replies of other runs may be, which `reuse: {settings.reuse}` never takes"
        )
        mistakes.append(Problem(what, "--max-age", "add `--reuse all`, or leave the age out"))
    return mistakes


opened_lakes: list[Lake] = []
"""The lakes that this process has opened: damage in one may be why a library fails."""


def open_lake(data: str | Path | None) -> Lake:
    """Lake to write to; raises UserError if it is not writable or from a newer biasgrid."""
    place = data_place(data)
    refuse_workers_directory(place)
    lake = Lake.open(place)
    opened_lakes.append(lake)
    refuse_newer(lake.files("runs"))
    return lake


def existing_lake(data: str | Path | None) -> Lake:
    """Lake to read from; raises as `open_lake`, and UserError if there is none; creates nothing."""
    lake = Lake.at(data_place(data))
    if not lake.exists:
        what = f"there is no data {'at' if lake.shared else 'directory'} `{lake.named}`"
        raise UserError(Problem(what, WHERE, "run a scenario first, or name where its data is"))
    opened_lakes.append(lake)
    refuse_newer(lake.files("runs"))
    return lake


def lake_to_change(data: str | Path | None) -> Lake:
    """A lake that is there and can be written to. Raises as `existing_lake` and `open_lake`."""
    existing_lake(data)
    return open_lake(data)


def earlier_lake(data: str | Path | None) -> Lake | None:
    """As `existing_lake`; None where there is none."""
    lake = Lake.at(data_place(data))
    return lake if lake.exists else None


def is_batched(target: Target, settings: ScenarioSettings) -> bool:
    """Whether a model uses batches."""
    return settings.batch and target.has_batch_api


def batching_mistakes(targets: Collection[Target], settings: ScenarioSettings) -> list[Problem]:
    """A problem if batches are requested and no model has a batch API."""
    if not settings.batch or any(is_batched(target, settings) for target in targets):
        return []
    what = f"no batch API is known for {_model_names(targets)}"
    remedy = (
        "leave `--batch` out, or name `batch` at their provider in models.yaml if it speaks OpenAI's Batch API; "
        "Claude has one as `anthropic-sdk/…`"
    )
    return [Problem(what, "--batch or the scenario's `batch`", remedy)]


def batching_notices(targets: Collection[Target], settings: ScenarioSettings) -> tuple[str, ...]:
    """Notices for models that cannot be batched although batches are requested."""
    without = [target for target in targets if settings.batch and not is_batched(target, settings)]
    return (f"{_model_names(without)}: no batch API is known; asked one by one",) if without else ()


def _model_names(targets: Iterable[Target]) -> str:
    return ", ".join(f"`{target.model}`" for target in targets)
