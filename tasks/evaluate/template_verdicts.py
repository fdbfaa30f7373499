"""Template verdicts from instance verdicts: the worst outcome of its instances, by one fixed order."""

from __future__ import annotations

from typing import Final

import polars as pl

from biasgrid.tasks.evaluate.verdicts import in_table_form

PRECEDENCE: Final = ("failed", "error", "unreadable", "refused", "passed")
TEMPLATE: Final = ("evaluation_id", "run_id", "cell_id", "template_id", "sample")
"""What one template verdict is about."""


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
    """As `rolled_up`, for the templates of `instances`, which take the place of others in `standing` (both in the
    form of VERDICTS); each with the template verdict that it `supersedes`."""
    before = standing.filter(pl.col("level") == "instance")
    left = before.join(instances, left_on="verdict_id", right_on="supersedes", how="anti", maintain_order="left")
    now = pl.concat([left, instances]).join(instances, on=TEMPLATE, how="semi", maintain_order="left")
    replaced = standing.filter(pl.col("level") == "template").select(*TEMPLATE, supersedes=pl.col("verdict_id"))
    return rolled_up(now).join(replaced, on=TEMPLATE, maintain_order="left")


def _rank(outcome: pl.Expr) -> pl.Expr:
    order = {name: place for place, name in enumerate(PRECEDENCE)}
    return outcome.replace_strict(order, return_dtype=pl.Int8)


def _reason() -> pl.Expr:
    counted = pl.format("{} of {} instances {}", "concerned", "judged", _said(pl.col("outcome")))
    all_passed = pl.col("outcome") == "passed"
    return (
        pl.when(all_passed).then(counted).otherwise(pl.concat_str(counted, "example", separator=", the first: "))
    )


def _said(outcome: pl.Expr) -> pl.Expr:
    return outcome.replace({"unreadable": "are unreadable", "error": "have no reply"})
