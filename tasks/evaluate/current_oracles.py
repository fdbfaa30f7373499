"""Current oracles of a catalog, for replies to prompts that were planned under earlier ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import polars as pl

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.oracle import Oracle
from biasgrid.catalogs.wording import wordings

RULES: Final = {
    "template": pl.String,
    "language": pl.String,
    "wording": pl.Int64,
    "template_text": pl.String,
    "rule": pl.String,
}
"""One row per template and wording; `rule` is the oracle's JSON."""
ASKED: Final = ["template", "language", "wording", "template_text"]
"""Key by which a case finds its rule; a template whose text has changed has none."""


def rules(catalog: Catalog) -> pl.DataFrame:
    """The oracle of every template and wording of a catalog, columns as RULES."""
    return pl.DataFrame(list(_rows(catalog)), schema=RULES, orient="row").unique(ASKED, keep="first")


def _rows(catalog: Catalog) -> Iterator[tuple[object, ...]]:
    for template in catalog.templates:
        worded = wordings(template, catalog.languages[template.language])
        prompts = (template.prompt, *template.paraphrases) * len(worded)
        for number, (wording, prompt) in enumerate(zip(worded, prompts, strict=False), start=1):
            rule = wording.oracle.model_dump_json(exclude_defaults=True)
            yield template.id, template.language, number, prompt, rule


def with_rules(cases: pl.DataFrame, rules: pl.DataFrame) -> pl.DataFrame:
    """`cases` (columns of CASES) with the oracles of `rules`; a case without a rule keeps its own."""
    found = cases.join(rules, on=ASKED, how="left", maintain_order="left")
    return found.with_columns(oracle=pl.coalesce("rule", "oracle")).select(cases.columns)


def find_changes(cases: pl.DataFrame, rules: pl.DataFrame) -> pl.DataFrame:
    """One row per template, language and wording of `cases` whose oracle differs from its rule: ASKED,
    `oracle`, `rule`."""
    planned = cases.select(*ASKED, "oracle").unique()
    return planned.join(rules, on=ASKED).filter(pl.col("oracle") != pl.col("rule")).sort(ASKED)


def judged_otherwise(oracle: str, rule: str) -> bool:
    """Whether a rule reads replies in another way, not only with other values, so that the marts cannot replace
    the oracle by it."""
    before, now = Oracle.model_validate_json(oracle), Oracle.model_validate_json(rule)
    return (before.operation, before.scale, before.orders) != (now.operation, now.scale, now.orders)
