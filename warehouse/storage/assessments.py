"""Assessments of replies by judges or people, stored in addition to the verdict that counts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

import polars as pl

from biasgrid.catalogs.schema.oracle import Oracle
from biasgrid.warehouse.hashing import content_hash
from biasgrid.warehouse.schema_check import in_form, polars_schema
from biasgrid.warehouse.storage.lake import Lake

TABLE: Final = "assessments"
GIVEN: Final = "given"
BLIND, DECISION = "blind", "decision"
UNIT: Final = ("cell_id", "case_id", "response_id", "rule_key")
"""Key of what is assessed: a reply, by a rule."""
_ONE: Final = ("cell_id", "case_id", "sample", "purpose", "assessor_kind", "assessor")


def empty_assessments() -> pl.DataFrame:
    """An empty table with the columns and types of ASSESSMENTS."""
    return pl.DataFrame(schema=polars_schema(TABLE))


to_assessment_form = partial(in_form, TABLE)


def add_rule_keys(rows: pl.DataFrame) -> pl.DataFrame:
    """`rows` with the `rule_key` of their `oracle` (JSON), independent of its notation."""
    oracles = rows["oracle"].unique()
    keys = pl.DataFrame({"oracle": oracles, "rule_key": [rule_key(oracle) for oracle in oracles]})
    return rows.join(keys.cast(pl.String), on="oracle", how="left", maintain_order="left")


def rule_key(oracle: str) -> str:
    """Hash of an oracle's JSON that ignores defaults and order."""
    return content_hash("rule", Oracle.model_validate_json(oracle).model_dump(mode="json"))


def newest_assessments(rows: pl.DataFrame, unit: Sequence[str] = _ONE) -> pl.DataFrame:
    """The newest assessment of each reply per assessor. Each turn of a session is one `sample`."""
    return rows.sort("assessed_at", "assessment_id").unique(list(unit), keep="last", maintain_order=True)


def assessments_of_people(lake: Lake, run_id: str, cell_id: str | None = None) -> pl.DataFrame:
    """Assessments by people of a run's replies, or of a cell's, in all evaluations."""
    if not lake.files(TABLE, run_id):  # of most runs, whose every cell asks
        return empty_assessments()
    rows = lake.scan(TABLE, run_id).filter(pl.col("assessor_kind") == "person")
    return (rows if cell_id is None else rows.filter(pl.col("cell_id") == cell_id)).collect()
