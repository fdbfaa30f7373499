"""Verdict rows: their columns, their types and ids that are the same on every machine."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from typing import Final

import polars as pl

from biasgrid.warehouse.hashing import hashed
from biasgrid.warehouse.schemas import VERDICTS

_UNIT: Final = ("evaluation_id", "level", "cell_id", "template_id", "sample", "case_id", "assessor")


@cache
def verdict_types() -> pl.Schema:
    """Polars' names and types for the columns of VERDICTS."""
    frame = pl.from_arrow(VERDICTS.empty_table())
    assert isinstance(frame, pl.DataFrame)  # noqa: S101 - narrows the type; a table is always a frame
    return frame.schema


def in_table_form(rows: pl.DataFrame) -> pl.DataFrame:
    """The columns of VERDICTS in their order and types; those that `rows` lacks are null."""
    types = verdict_types()
    present = (pl.col(name) if name in rows.columns else pl.lit(None).alias(name) for name in types)
    return rows.select(present).cast(types)


def with_ids(rows: pl.DataFrame, evaluation_id: str, judged_at: datetime) -> pl.DataFrame:
    """Rows stamped with their evaluation and moment, and each with the id of its evaluation, level, unit and
    assessor."""
    stamped = rows.with_columns(
        evaluation_id=pl.lit(evaluation_id, dtype=pl.String),
        judged_at=pl.lit(judged_at).cast(verdict_types()["judged_at"]),
    )
    unit = stamped.select(pl.concat_str((*_unit(), _told_apart()), separator="\x1f"))
    return stamped.with_columns(verdict_id=hashed(unit.to_series())).select(*verdict_types())


def _unit() -> list[pl.Expr]:
    return [pl.col(name).cast(pl.String).fill_null("") for name in _UNIT[:-1]]


def _told_apart() -> pl.Expr:
    """The assessor; a person may bear an operation's or a model's name."""
    name = pl.col("assessor").fill_null("")
    return (
        pl.when(pl.col("assessor_kind").eq_missing("person")).then(pl.format("{}\x1fperson", name)).otherwise(name)
    )
