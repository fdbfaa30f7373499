"""Verdict rows: their columns, types and ids, and template verdicts made from those of instances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final

import polars as pl

from biasgrid.catalogs.schema.languages import LanguageCatalog
from biasgrid.warehouse.hashing import hash_texts
from biasgrid.warehouse.schema_check import in_form, polars_schema

_UNIT: Final = ("evaluation_id", "level", "cell_id", "template_id", "sample", "case_id", "assessor")


def verdict_file(evaluation_id: str, cell_id: str) -> str:
    """Name of a cell's file of `verdicts`, and of what stands next to it in other tables."""
    return f"{evaluation_id}-{cell_id}"


in_table_form = partial(in_form, "verdicts")
BY_ORACLE: Final = {
    "level": pl.lit("instance"),
    "assessor_kind": pl.lit("oracle"),
    "assessor": pl.col("operation"),
}
"""Columns of an oracle's verdicts on replies."""


Replies = pl.DataFrame | Sequence[pl.LazyFrame]
"""Columns of RESPONSES, whole or in parts."""


@dataclass(frozen=True, slots=True)
class Judging:
    """The languages that replies are read in, and the evaluation and moment that verdicts are stamped with."""

    languages: Mapping[str, LanguageCatalog]
    evaluation_id: str
    judged_at: datetime


def with_ids(rows: pl.DataFrame, evaluation_id: str, judged_at: datetime) -> pl.DataFrame:
    """Rows stamped with their evaluation and moment, and with the id of their evaluation, level, unit and
    assessor."""
    stamped = rows.with_columns(
        evaluation_id=pl.lit(evaluation_id, dtype=pl.String),
        judged_at=pl.lit(judged_at).cast(polars_schema("verdicts")["judged_at"]),
    )
    parts = (pl.col(name).cast(pl.String).fill_null("") for name in _UNIT[:-1])
    unit = stamped.select(pl.concat_str((*parts, _distinct_assessor()), separator="\x1f"))
    return stamped.with_columns(verdict_id=hash_texts(unit.to_series())).select(*polars_schema("verdicts"))


def _distinct_assessor() -> pl.Expr:
    """The assessor, unique even if a person has the name of an operation or a model."""
    name = pl.col("assessor").fill_null("")
    return (
        pl.when(pl.col("assessor_kind").eq_missing("person")).then(pl.format("{}\x1fperson", name)).otherwise(name)
    )


PRECEDENCE: Final = ("failed", "error", "unreadable", "refused", "passed")
TEMPLATE: Final = ("evaluation_id", "run_id", "cell_id", "template_id", "sample")
"""Key of a template verdict."""


def template_verdicts(instances: pl.DataFrame, cases: pl.DataFrame) -> pl.DataFrame:
    """One row per template × sample of the expected-value oracles, in the form of VERDICTS without ids.

    Every instance counts, for `equal` too. Same-value oracles get none here: SQL compares their numbers.
    """
    expected = cases.filter(pl.col("oracle_type") == "expected value")
    judged = instances.join(expected, on="case_id", how="semi", maintain_order="left")
    return in_table_form(rolled_up(judged))


def rolled_up(instances: pl.DataFrame) -> pl.DataFrame:
    """Instance rows gathered by `TEMPLATE`: `level`, `outcome`, `reason` and the assessor they share."""
    ranked = instances.with_columns(rank=_rank(pl.col("outcome")))
    worst = pl.col("rank") == pl.col("rank").min()
    gathered = ranked.group_by(TEMPLATE, maintain_order=True).agg(
        pl.col("assessor_kind", "assessor").first(),
        outcome=pl.col("outcome").filter(worst).first(),
        example=pl.col("reason").filter(worst).first(),
        concerned=worst.sum(),
        judged=pl.len(),
    )
    return gathered.with_columns(level=pl.lit("template"), reason=_reason())


def rolled_up_anew(standing: pl.DataFrame, instances: pl.DataFrame) -> pl.DataFrame:
    """As `rolled_up`, for the templates of `instances`, each with the template verdict in `standing` that it
    `supersedes`."""
    before = standing.filter(pl.col("level") == "instance")
    left = before.join(instances, left_on="verdict_id", right_on="supersedes", how="anti", maintain_order="left")
    now = pl.concat([left, instances]).join(instances, on=TEMPLATE, how="semi", maintain_order="left")
    replaced = standing.filter(pl.col("level") == "template").select(*TEMPLATE, supersedes=pl.col("verdict_id"))
    return rolled_up(now).join(replaced, on=TEMPLATE, maintain_order="left")


def _rank(outcome: pl.Expr) -> pl.Expr:
    order = {name: place for place, name in enumerate(PRECEDENCE)}
    return outcome.replace_strict(order, return_dtype=pl.Int8)


def _reason() -> pl.Expr:
    verb = pl.col("outcome").replace({"unreadable": "are unreadable", "error": "have no reply"})
    counted = pl.format("{} of {} instances {}", "concerned", "judged", verb)
    all_passed = pl.col("outcome") == "passed"
    return (
        pl.when(all_passed).then(counted).otherwise(pl.concat_str(counted, "example", separator=", the first: "))
    )
