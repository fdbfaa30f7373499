"""Settings of a scenario that cannot hold together, found before anything is sent."""

from __future__ import annotations

from collections.abc import Iterable

from biasgrid.catalogs.errors import Problem
from biasgrid.catalogs.schema.entries import ScenarioSettings
from biasgrid.catalogs.schema.models import Target


def cap_mistakes(models: Iterable[Target], settings: ScenarioSettings) -> list[Problem]:
    """Caps and ages that could not hold: money without a price, an age where no other run is looked at."""
    mistakes: list[Problem] = []
    unknown = [target.model for target in models if target.prices is None]
    if settings.max_cost is not None and unknown:
        told = ", ".join(f"`{model}`" for model in unknown)
        remedy = "add `prices` in a models.yaml that BIASGRID_CATALOG names, or cap with `max_requests`"
        mistakes.append(Problem(f"`max_cost` cannot hold: the price of {told} is unknown", "--max-cost", remedy))
    if settings.max_age is not None and settings.reuse != "all":
        what = f"`max_age` says how old replies of other runs may be, which `reuse: {settings.reuse}` never takes"
        mistakes.append(Problem(what, "--max-age", "add `--reuse all`, or leave the age out"))
    return mistakes
