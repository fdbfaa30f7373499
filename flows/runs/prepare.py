"""Everything that can be wrong is found here, before a run exists: nothing sent, nothing written."""

from __future__ import annotations

import os
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.scenario.resolved import Resolved
from biasgrid.catalogs.scenario.scenario import Inspection, Overrides, ResolvedScenario, Source, resolve
from biasgrid.catalogs.schema.models import Target
from biasgrid.flows.rate_limits.caps import cap_mistakes
from biasgrid.flows.runs.batched_models import batching_mistakes, batching_notices
from biasgrid.tasks.connectors.keys import Secrets, missing_keys
from biasgrid.tasks.generate.requirement_checks import check_requirement
from biasgrid.warehouse.schema_check import refuse_newer
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.s3.address import WHERE

DATA = "BIASGRID_DATA"


def data_place(named: str | Path | None = None) -> str | Path:
    """Where a lake lies, a directory or `s3://bucket/prefix`: as named, else `BIASGRID_DATA`, else `data`."""
    return named or os.environ.get(DATA) or "data"


WORKERS_RUN = "PREFECT__FLOW_RUN_ID"
"""Set where Prefect has started this process for a deployment."""


def refuse_workers_directory(place: str | Path) -> None:
    """Raises UserError where data would lie in a directory that a worker makes for a run and removes with it."""
    if os.environ.get(WORKERS_RUN) and "://" not in str(place) and not Path(place).expanduser().is_absolute():
        what = f"`{place}` would lie in a directory that goes when this run ends"
        remedy = "name an absolute directory, or s3://bucket/prefix, in the worker's environment or the deployment"
        raise UserError(Problem(what, f"data or {DATA}", remedy))


@dataclass(frozen=True)
class Ready:
    """What a run of any kind needs to begin."""

    resolved: Resolved
    secrets: Secrets | None

    @property
    def models(self) -> list[Target]:
        """Every model that is asked, the judge among them."""
        return self.resolved.asked


@dataclass(frozen=True)
class Prepared(Ready):
    """A scenario that can run."""

    resolved: ResolvedScenario


at_hand: ContextVar[Ready | None] = ContextVar("at_hand", default=None)
"""What the command line has prepared already, for the flow that it starts in this process."""


Kind = TypeVar("Kind", bound=Ready)


def prepared_before(kind: type[Kind]) -> Kind | None:
    """What was put `at_hand`, if it is of this kind."""
    found = at_hand.get()
    return found if isinstance(found, kind) else None


def prepare(source: Source, overrides: Overrides | None = None, secrets: Secrets | None = None) -> Prepared:
    """Resolve a scenario, check its templates, models and keys. Raises UserError with all that is wrong."""

    def inspect(resolved: ResolvedScenario) -> list[Problem]:
        models = Prepared(resolved, secrets).models
        return [*checked(resolved), *missing_keys(models, secrets)]

    return Prepared(resolved(source, overrides, inspect), secrets)


def prepare_unasked(source: Source, overrides: Overrides | None = None) -> Prepared:
    """As `prepare`, where other machines ask the models: their keys are theirs."""
    return Prepared(resolved(source, overrides, checked), None)


def resolved(source: Source, overrides: Overrides | None, inspect: Inspection) -> ResolvedScenario:
    """As `resolve`, with notices of models that are not asked as the scenario wants it."""
    found = resolve(source, overrides, inspect)
    notices = batching_notices(found.targets.values(), found.settings)
    return replace(found, notices=(*found.notices, *notices))


def checked(resolved: ResolvedScenario) -> list[Problem]:
    """What is wrong with a scenario's templates and settings, keys aside."""
    settings = resolved.settings
    models = Prepared(resolved, None).models
    return [
        *template_mistakes(resolved),
        *cap_mistakes(models, settings),
        *batching_mistakes(resolved.targets.values(), settings),
    ]


def template_mistakes(resolved: ResolvedScenario) -> list[Problem]:
    return [
        mistake
        for requirement in resolved.requirements
        for language in requirement.languages
        for mistake in check_requirement(requirement, language, resolved.catalog)
    ]


def open_lake(data: str | Path | None) -> Lake:
    """A lake to write to. Raises UserError where it cannot be written, or a newer biasgrid wrote into it."""
    place = data_place(data)
    refuse_workers_directory(place)
    lake = Lake.open(place)
    refuse_newer(lake.files("runs"))
    return lake


def existing_lake(data: str | Path | None) -> Lake:
    """A lake to read from. Raises as `open_lake`, and UserError where there is none; makes nothing."""
    lake = Lake.at(data_place(data))
    if not lake.exists:
        what = f"there is no data {'at' if lake.shared else 'directory'} `{lake.named}`"
        raise UserError(Problem(what, WHERE, "run a scenario first, or name where its data lies"))
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
