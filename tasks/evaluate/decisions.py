"""Applies people's decisions to verdicts, and carries them over to later evaluations of the same reply and
rule."""

from __future__ import annotations

from typing import Final

import polars as pl

from biasgrid.tasks.evaluate.judge import current
from biasgrid.tasks.evaluate.verdicts import TEMPLATE, in_table_form, rolled_up_anew, with_ids
from biasgrid.warehouse.hashing import hash_texts
from biasgrid.warehouse.storage.assessments import (
    DECISION,
    UNIT,
    add_rule_keys,
    newest_assessments,
    to_assessment_form,
)

_SEVERAL: Final = ", "


def units(cases: pl.DataFrame, verdicts: pl.DataFrame) -> pl.DataFrame:
    """What this evaluation judged: `UNIT`, one row per reply and rule."""
    judged = verdicts.filter((pl.col("level") == "instance") & pl.col("supersedes").is_null())
    rules = add_rule_keys(cases.select("case_id", "oracle").unique("case_id"))
    return judged.join(rules, on="case_id").select(UNIT).drop_nulls()


def carry_over(assessments: pl.DataFrame, judged: pl.DataFrame, evaluation_id: str) -> pl.DataFrame:
    """Each person's last decision in other evaluations on the same replies and rules, as rows of this one;
    `judged` as of `units`."""
    own = assessments.filter((pl.col("evaluation_id") == evaluation_id) & pl.col("carried_from").is_null())
    others = assessments.filter((pl.col("evaluation_id") != evaluation_id) & pl.col("carried_from").is_null())
    fitting = newest_assessments(others.join(judged, on=list(UNIT), how="semi", maintain_order="left"))
    fitting = fitting.join(own, on=["case_id", "purpose", "assessor"], how="anti", maintain_order="left")
    ids = [f"{evaluation_id}\x1f{given}" for given in fitting["assessment_id"]]
    return to_assessment_form(
        fitting.with_columns(
            carried_from=pl.col("assessment_id"),
            assessment_id=hash_texts(ids),
            evaluation_id=pl.lit(evaluation_id),
        )
    )


def apply_decisions(verdicts: pl.DataFrame, assessments: pl.DataFrame) -> pl.DataFrame:
    """`verdicts` (one evaluation's on one cell) with the rows that people's decisions add, the newest decision on
    a case superseding earlier verdicts.

    `assessments` are this evaluation's rows of ASSESSMENTS; templates are rolled up anew, earlier rows made again.
    """
    given = verdicts.filter(pl.col("assessor_kind").ne_missing("person"))
    decisions = newest_assessments(assessments.filter(pl.col("purpose") == DECISION), ["cell_id", "case_id"])
    standing = current(given)
    instances = _instances(standing, decisions)
    if instances.is_empty():
        return given
    added = _stamp(pl.concat([instances, _templates(standing, instances)]))
    return pl.concat([given, added])


def _instances(standing: pl.DataFrame, decisions: pl.DataFrame) -> pl.DataFrame:
    assessments = decisions.select(
        *("cell_id", "case_id", "response_id", "assessor", "carried_from", "assessed_at"),
        decision="outcome",
        why="reason",
    )
    on = ["cell_id", "case_id", "response_id"]
    rows = standing.filter(pl.col("level") == "instance").drop("assessor")
    met = rows.join(assessments, on=on, maintain_order="left")
    earlier = pl.when(pl.col("carried_from").is_not_null()).then(pl.lit(" (decided in an earlier evaluation)"))
    return in_table_form(
        met.with_columns(
            assessor_kind=pl.lit("person"),
            reviewer=pl.col("assessor"),
            supersedes=pl.col("verdict_id"),
            outcome=pl.col("decision"),
            parsed_text=pl.lit(None, dtype=pl.String),
            reason=pl.concat_str("why", earlier.otherwise(pl.lit(""))),
            judged_at=pl.col("assessed_at"),
        )
    )


def _templates(standing: pl.DataFrame, instances: pl.DataFrame) -> pl.DataFrame:
    by = instances.group_by(TEMPLATE).agg(
        pl.col("assessor").unique().sort().str.join(_SEVERAL), pl.col("judged_at").max()
    )
    rolled = rolled_up_anew(standing, instances).drop("assessor", "assessor_kind")
    rows = rolled.join(by, on=TEMPLATE, maintain_order="left")
    return in_table_form(rows.with_columns(assessor_kind=pl.lit("person"), reviewer=pl.col("assessor")))


def _stamp(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with ids and the moment of the decision, the same on every call."""
    evaluation_id = str(rows["evaluation_id"][0])
    moments = rows["judged_at"]
    return with_ids(rows, evaluation_id, moments[0]).with_columns(judged_at=moments)
