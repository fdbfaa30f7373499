"""Which requirements can be decided, and how likely, before anything is sent; SQL macros compute it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from biasgrid.catalogs.coverage import MANY_INSTANCES
from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.scenario.scenario import ResolvedScenario
from biasgrid.catalogs.schema.requirements import Requirement

TOPICS: Final = ("distributions", "quantiles", "intervals", "decisions", "power")
"""Macros that are needed, of `warehouse/macros`."""
ASSUMED_CORRELATION: Final = 0.5
"""Of the rows of one template, before any are known."""
MET: Final = ("met_at_95", "met_at_98", "met_at_99")
NOT_MET: Final = ("not_met_at_85", "not_met_at_80", "not_met_at_70")
PLANS: Final = {
    "plan": pl.Int64,
    "tolerance": pl.Float64,
    "templates": pl.Int64,
    "rows_per_template": pl.Float64,
    "correlation": pl.Float64,
}


@dataclass(frozen=True, slots=True)
class Power:
    """How likely a requirement is decided in a language; chances are 0–1, null for rates beyond the tolerance."""

    requirement: str
    language: str
    measure: str
    tolerance: float
    templates: int
    """Clusters, a template and its twin being one, without those that have nothing to compare."""
    instances_per_template: float
    templates_if_perfect: int | None
    """Fewest with which a perfect score is met; None if no number is enough."""
    met_at_95: float | None
    met_at_98: float | None
    met_at_99: float | None
    not_met_at_85: float | None
    not_met_at_80: float | None
    not_met_at_70: float | None
    missing: int | None
    """Templates that are missing; None if no number is enough."""
    remedy: str
    """What to change where it cannot be decided; else empty."""

    @property
    def is_decidable(self) -> bool:
        return self.missing == 0


def requirement_powers(resolved: ResolvedScenario, asked: pl.DataFrame) -> list[Power]:
    """Power of each requirement × language; `asked` has its instances."""
    samples = resolved.settings.samples
    pairs = [(one, language) for one in resolved.requirements for language in one.languages]
    counts = {(row["requirement"], row["language"]): row for row in _count_clusters(asked).iter_rows(named=True)}
    nothing = {"templates": 0, "rows": 0.0, "instances_per_template": 0.0}
    counted = [counts.get((one.name, language), nothing) for one, language in pairs]
    plans = [
        (one.tolerance, own["templates"], max(1.0, samples * (own["rows"] if one.measure == "replies" else 1.0)))
        for (one, _), own in zip(pairs, counted, strict=True)
    ]
    chances = decision_chances(plans)
    return [
        _power(one, language, own, found, resolved.catalog)
        for (one, language), own, found in zip(pairs, counted, chances, strict=True)
    ]


def _count_clusters(asked: pl.DataFrame) -> pl.DataFrame:
    """Clusters of each requirement × language, and the instances and judged rows of one of their templates."""
    key = ["requirement", "language"]
    compares = pl.col("oracle_type").first() == "same value"
    templates = asked.group_by(*key, "cluster", "template_id").agg(
        pl.len().alias("instances"), compares.alias("compares")
    )
    compared = templates.filter(~pl.col("compares") | (pl.col("instances") > 1))
    rows = pl.when("compares").then(1).otherwise(pl.col("instances"))
    return compared.group_by(key).agg(
        pl.col("cluster").n_unique().alias("templates"),
        (rows.sum() / pl.col("cluster").n_unique()).alias("rows"),
        pl.col("instances").mean().alias("instances_per_template"),
    )


def decision_chances(plans: Iterable[tuple[float, int, float]]) -> list[dict[str, Any]]:
    """For each tolerance, number of templates and rows a template: `templates_if_perfect`, MET and NOT_MET."""
    wanted = list(plans)
    distinct = {plan: number for number, plan in enumerate(dict.fromkeys(wanted))}
    rows = [
        (number, tolerance, templates, each, ASSUMED_CORRELATION if each > 1 else 1.0)
        for (tolerance, templates, each), number in distinct.items()
    ]
    columns = ("templates_if_perfect", *MET, *NOT_MET)
    chances = [
        {name: one[name] for name in columns} for one in _with_power(pl.DataFrame(rows, PLANS, orient="row"))
    ]
    return [chances[distinct[plan]] for plan in wanted]


def _with_power(plans: pl.DataFrame) -> list[dict[str, Any]]:
    """The plans with their chances, in their order."""
    import duckdb

    from biasgrid.warehouse.build.macros import define

    with duckdb.connect() as session:
        define(session, TOPICS)
        session.register("plans", plans.to_arrow())
        found = session.execute("from statistics.with_power('plans') order by plan")
        names = [name for name, *_ in found.description]
        return [dict(zip(names, values, strict=True)) for values in found.fetchall()]


def _power(
    requirement: Requirement, language: str, own: dict[str, Any], chances: dict[str, Any], catalog: Catalog
) -> Power:
    needed = chances["templates_if_perfect"]
    missing = None if needed is None else max(0, needed - own["templates"])
    return Power(
        requirement=requirement.name,
        language=language,
        measure=requirement.measure,
        tolerance=requirement.tolerance,
        templates=own["templates"],
        instances_per_template=round(own["instances_per_template"], 1),
        missing=missing,
        remedy="" if missing == 0 else _remedy(requirement, language, needed, catalog),
        **chances,
    )


def _remedy(requirement: Requirement, language: str, needed: int | None, catalog: Catalog) -> str:
    """The key that would make a requirement decidable."""
    if needed is None:
        return "lower `tolerance`: no number of templates shows it"
    if requirement.count_clusters(catalog.templates, language) >= needed:
        return "raise `templates`"
    cells = {name: Requirement.model_fields[name].default for name in ("inputs", "reflections")}
    if requirement.model_copy(update=cells).count_clusters(catalog.templates, language) >= needed:
        return "leave out `inputs` and `reflections`"
    return "name a `library` with more templates, or lower `tolerance`"


def undecidable(powers: Iterable[Power]) -> list[Power]:
    return [power for power in powers if not power.is_decidable]


def describe_power(powers: Sequence[Power]) -> Iterator[str]:
    """One or two sentences: how likely what can be decided is, and what cannot be."""
    short = undecidable(powers)
    able = [power for power in powers if power.is_decidable]
    if able:
        met, failed = _least(able, "met_at_98"), _least(able, "not_met_at_80")
        count = f"{len(able)} of {len(powers)} requirements × languages can be decided"
        yield f"{count}{_chance('met at a true 98%', met)}{_chance('not met at a true 80%', failed)}"
    if short:
        yield f"{len(short)} can never be met: {'; '.join(describe_lacks(short, LISTED))}"


def _least(powers: Iterable[Power], chance: str) -> float | None:
    return min((value for power in powers if (value := getattr(power, chance)) is not None), default=None)


def _chance(event: str, least: float | None) -> str:
    return "" if least is None else f"; {event} with a chance of {least:.0%} or more"


LISTED: Final = 3
"""Undecidable requirements that a sentence names for each remedy."""


def describe_lacks(short: Sequence[Power], most: int | None = None) -> Iterator[str]:
    """What to change, and for which undecidable requirements, at `most` so many by name."""
    for remedy in dict.fromkeys(power.remedy for power in short):
        own = [power for power in short if power.remedy == remedy]
        named = ", ".join(map(_lack, own[:most]))
        yield f"{remedy}: {named}{f' and {len(own) - most} more' if most and len(own) > most else ''}"


def _lack(power: Power) -> str:
    have = f" {power.templates} of {power.templates_if_perfect}" if power.missing else ""
    return f"{power.requirement} ({power.language}{have})"


def strict_measures(requirements: Iterable[Requirement], powers: Iterable[Power]) -> Iterator[str]:
    """A warning of requirements that leave the measure to the default although many instances must all pass."""
    unstated = {one.name for one in requirements if "measure" not in one.model_fields_set}
    found = [one for one in powers if one.requirement in unstated and one.instances_per_template > MANY_INSTANCES]
    most = {one.requirement: one.instances_per_template for one in found}
    if most:
        named, each = ", ".join(most), max(most.values())
        yield (
            f"state `measure: tests` or `measure: replies` for {named}: of up to {each:g} instances a template "
            f"all must pass, so that a model that errs in 1% of replies passes {0.99**each:.0%} of tests"
        )


def refuse_undecidable(powers: Iterable[Power], *, yes: bool) -> None:
    """Raises UserError if requirements cannot be decided, unless `yes`."""
    short = undecidable(powers)
    if short and not yes:
        many = "1 requirement" if len(short) == 1 else f"{len(short)} requirements × languages"
        what = f"{many} can never be met: {'; '.join(describe_lacks(short, LISTED))}"
        raise UserError(Problem(what, "--gate decided", "change that, leave `--gate decided` out, or add `--yes`"))
