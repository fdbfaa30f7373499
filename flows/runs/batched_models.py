"""Determines which models are batched, without importing Prefect."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from biasgrid.catalogs.errors import Problem
from biasgrid.catalogs.schema.entries import ScenarioSettings
from biasgrid.catalogs.schema.models import Target

SPOKEN = "openai"
"""The connector with a supported batch API."""


def is_batched(target: Target, settings: ScenarioSettings) -> bool:
    """Whether a model uses batches."""
    return settings.batch and target.batch is not None and target.connector == SPOKEN


def batching_mistakes(targets: Collection[Target], settings: ScenarioSettings) -> list[Problem]:
    """A problem if batches are requested and no model has a batch API."""
    if not settings.batch or any(is_batched(target, settings) for target in targets):
        return []
    what = f"no batch API is known for {_named(targets)}"
    remedy = (
        "leave `--batch` out, or name `batch` at their provider in models.yaml if it speaks OpenAI's Batch API"
    )
    return [Problem(what, "--batch or the scenario's `batch`", remedy)]


def batching_notices(targets: Collection[Target], settings: ScenarioSettings) -> tuple[str, ...]:
    """Notices for models that cannot be batched although batches are requested."""
    without = [target for target in targets if settings.batch and not is_batched(target, settings)]
    return (f"{_named(without)}: no batch API is known; asked one by one",) if without else ()


def _named(targets: Iterable[Target]) -> str:
    return ", ".join(f"`{target.model}`" for target in targets)
