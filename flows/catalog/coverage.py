"""Coverage of a library per language × concern × input × reflection."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import polars as pl
from polars.dataframe.group_by import GroupBy

from biasgrid.catalogs.coverage import Counted, count_prompts, missing
from biasgrid.catalogs.errors import Problem, UserError, nearest
from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.entries import Template
from biasgrid.catalogs.schema.languages import LanguageCatalog
from biasgrid.catalogs.schema.respondents import Respondent
from biasgrid.flows.forecast.power import decision_chances
from biasgrid.tasks.connectors.simulated.behaviour import template_pass_probability

RESPONDENTS: Final = {
    "constant_no": Respondent(id="constant-no", description="", answers="constant", constant="No"),
    "constant_yes": Respondent(id="constant-yes", description="", answers="constant", constant="Yes"),
    "first_option": Respondent(id="first-option", description="", answers="first-option"),
    "refuser": Respondent(id="refuser", description="", answers="refuse"),
}
"""As the shipped ones of the same names, whatever an overlay makes of those."""
BASELINES: Final = tuple(RESPONDENTS)


def passed_by(template: Template, language: LanguageCatalog | None) -> dict[str, bool | None]:
    """Whether each of BASELINES passes a template; None for a same-value test."""
    if template.oracle.type == "same value":
        return dict.fromkeys(BASELINES)
    return {
        name: template_pass_probability(respondent, template, [None], language) == 1
        for name, respondent in RESPONDENTS.items()
    }


CELL: Final = ("language", "concern", "input", "reflection")
TEMPLATES: Final[dict[str, pl.DataType | type[pl.DataType]]] = {
    **dict.fromkeys((*CELL, "sector", "trouble", "cluster"), pl.String),
    "instances": pl.Int64,
    **dict.fromkeys(("paraphrased", "expected", "reverse_keyed", *BASELINES), pl.Boolean),
}
"""One row per template. `instances` is null if unknown; the baselines if there is no test of expected
values: for same-value oracles, doubles of other templates, and templates that make no prompt."""


CHANCES: Final = ("met_at_98", "not_met_at_80")


@dataclass(frozen=True)
class Coverage:
    """What is covered of the concerns and languages asked for. Shares go from 0 to 1.

    A frame's rows hold counts of `templates`, `clusters` (a template and its twin are one), `instances`,
    `paraphrased`, `expected_value`, `same_value` and `reverse_keyed`, `instances_per_template`, the share of
    expected-value tests that each of BASELINES passes, `templates_needed` and `decidable`, and the chance that a
    model is found to meet the tolerance (`met_at_98`) or not to meet it (`not_met_at_80`) if it passes so many
    percent of the tests. Templates of a sector stand in `sectors` and `sector_sets` alone.
    """

    library: str
    overlay: str
    """The directory laid over the shipped catalogs; empty where there is none."""
    tolerance: float
    needed: int | None
    """The least number of templates that decides a perfect score at the tolerance; None: no number does."""
    templates: pl.DataFrame
    """One row per template, columns as TEMPLATES."""
    missing: pl.DataFrame
    """The cells without a template of no sector."""
    chances: pl.DataFrame
    """CHANCES by number of `clusters`."""

    @property
    def cells(self) -> pl.DataFrame:
        """One row per language × concern × input × reflection."""
        return self._totals(CELL)

    @property
    def concerns(self) -> pl.DataFrame:
        """One row per language × concern."""
        return self._totals(CELL[:2])

    @property
    def sector_sets(self) -> pl.DataFrame:
        """One row per language × sector."""
        return self._totals(("language", "sector"))

    @property
    def sectors(self) -> pl.DataFrame:
        """One row per sector and cell."""
        return self._totals(("sector", *CELL))

    @property
    def rows(self) -> pl.DataFrame:
        """The cells, then those of each sector: columns as `cells`, and `sector`, null for those of no sector."""
        return pl.concat([self.cells, self.sectors], how="diagonal")

    @property
    def uncounted(self) -> pl.DataFrame:
        """Why templates make no prompt or an unknown number: `language`, `concern`, `trouble`, `templates`."""
        troubled = self.templates.filter(pl.col("trouble") != "")
        return troubled.group_by("language", "concern", "trouble").agg(templates=pl.len()).sort(pl.all())

    def _totals(self, keys: tuple[str, ...]) -> pl.DataFrame:
        totals = _group_by(self.templates, keys).agg(*_counts(), *map(_share, BASELINES)).sort(keys)
        needed = pl.lit(self.needed, dtype=pl.Int64)
        decidable = (pl.col("clusters") >= needed).fill_null(value=False)
        shown = totals.with_columns(templates_needed=needed, decidable=decidable)
        return shown.join(self.chances, on="clusters", how="left", maintain_order="left")


def _group_by(templates: pl.DataFrame, keys: tuple[str, ...]) -> GroupBy:
    """Templates of sectors, or those of none if `keys` has no sector, by the keys."""
    apart = pl.col("sector").is_not_null() if "sector" in keys else pl.col("sector").is_null()
    return templates.filter(apart).group_by(keys)


def coverage(
    catalog: Catalog, tolerance: float = 0.9, concerns: Collection[str] = (), languages: Collection[str] = ()
) -> Coverage:
    """Coverage of some or all concerns and languages. Raises UserError for unknown ones."""
    asked = _resolve_names(catalog, tolerance, concerns, languages)
    chosen = [t for t in catalog.templates if t.concern in asked.concerns and t.language in asked.languages]
    rows = pl.DataFrame(_rows(count_prompts(chosen, catalog), catalog), schema=TEMPLATES)
    general = (template for template in chosen if template.sector is None)
    gaps = pl.DataFrame(missing(general, asked.concerns, asked.languages), schema=dict.fromkeys(CELL, pl.String))
    needed, chances = _chances(rows, tolerance)
    return Coverage(catalog.library, catalog.overlay, tolerance, needed, rows, gaps, chances)


def _chances(templates: pl.DataFrame, tolerance: float) -> tuple[int | None, pl.DataFrame]:
    """Templates that a decision needs, and CHANCES of each number of clusters that a group of templates has."""
    groups = (CELL, CELL[:2], ("language", "sector"), ("sector", *CELL))
    held = (_group_by(templates, keys).agg(pl.col("cluster").n_unique())["cluster"] for keys in groups)
    counts = sorted({0}.union(*held))
    found = decision_chances((tolerance, clusters, 1.0) for clusters in counts)
    schema = {"clusters": pl.UInt32, **dict.fromkeys(CHANCES, pl.Float64)}
    rows = [(clusters, *(one[name] for name in CHANCES)) for clusters, one in zip(counts, found, strict=True)]
    return found[0]["templates_if_perfect"], pl.DataFrame(rows, schema, orient="row")


@dataclass(frozen=True, slots=True)
class _Asked:
    concerns: frozenset[str]
    languages: frozenset[str]


def _resolve_names(
    catalog: Catalog, tolerance: float, concerns: Iterable[str], languages: Iterable[str]
) -> _Asked:
    mistakes: list[Problem] = []
    if not 0 <= tolerance <= 1:
        mistakes.append(Problem(f"tolerance `{tolerance}` is no share", "--tolerance", "name one from 0 to 1"))
    known = {*catalog.languages, *(template.language for template in catalog.templates)}
    named = frozenset(languages)
    for language in sorted(named - known):
        mistakes.append(Problem(f"language `{language}` is unknown", "--language", nearest(language, known)))
    found = frozenset(_concerns(catalog, concerns, mistakes))
    if mistakes:
        raise UserError(mistakes)
    return _Asked(found or _all_concerns(catalog), named or _all_languages(catalog))


def _concerns(catalog: Catalog, names: Iterable[str], mistakes: list[Problem]) -> Iterator[str]:
    for name in dict.fromkeys(names):
        try:
            yield catalog.concern(name)
        except UserError as unknown:
            mistakes.extend(Problem(wrong.what, "--concern", wrong.remedy) for wrong in unknown.mistakes)


def _all_concerns(catalog: Catalog) -> frozenset[str]:
    """Concerns of the templates; of the shipped library also all others with a markup."""
    shipped = catalog.concerns.values() if catalog.library == "shipped" else ()
    expected = (concern.id for concern in shipped if concern.markups)
    return frozenset((*expected, *(template.concern for template in catalog.templates)))


def _all_languages(catalog: Catalog) -> frozenset[str]:
    expected = catalog.languages if catalog.library == "shipped" else ()
    return frozenset((*expected, *(template.language for template in catalog.templates)))


def _rows(templates: Iterable[Counted], catalog: Catalog) -> list[dict[str, Any]]:
    return [_row(each, each.template, catalog) for each in templates]


def _row(each: Counted, template: Template, catalog: Catalog) -> dict[str, Any]:
    tested = not each.doubles and each.instances != 0
    passed = passed_by(template, catalog.languages.get(template.language)) if tested else dict.fromkeys(BASELINES)
    return {
        **{name: getattr(template, name) for name in (*CELL, "sector", "reverse_keyed")},
        "instances": each.instances,
        "trouble": each.trouble,
        "cluster": template.cluster,
        "paraphrased": bool(template.paraphrases),
        "expected": template.oracle.type == "expected value",
        **passed,
    }


def _counts() -> Iterator[pl.Expr]:
    expected, instances = pl.col("expected"), pl.col("instances")
    known = instances.count()
    yield pl.len().alias("templates")
    yield pl.col("cluster").n_unique().alias("clusters")
    yield pl.when(known > 0).then(instances.sum()).alias("instances")
    yield pl.when(known > 0).then(instances.mean()).alias("instances_per_template")
    yield pl.col("paraphrased").sum()
    yield expected.sum().alias("expected_value")
    yield (~expected).sum().alias("same_value")
    yield (pl.col("reverse_keyed") & expected).sum().alias("reverse_keyed")


def _share(baseline: str) -> pl.Expr:
    return pl.col(baseline).mean()  # of those that are no null
