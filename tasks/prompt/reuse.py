"""Which replies already lie in the lake: those of this cell, and those that the reuse policy lets stand in."""

from __future__ import annotations

import polars as pl

from warehouse.identity import hashed
from warehouse.lake import Lake


def landed(lake: Lake, run_id: str, cell_id: str) -> pl.DataFrame:
    """The replies of a cell in this run: asking them again would be paying twice."""
    own = lake.scan("responses", run_id, name=f"{cell_id}-*")
    return own.filter(pl.col("text").is_not_null(), pl.col("purpose") == "subject").collect()


def reuse_replies(lake: Lake, run_id: str) -> None:
    """Land, for every case of a run that has no reply yet, the newest reply of other runs to the same request.
    One pass over the lake, before the cells start: each cell looking for itself would read all of it again."""
    answered = lake.scan("responses", run_id).filter(pl.col("text").is_not_null())
    wanted = lake.scan("cases", run_id).select("request_key", "case_id", "cell_id", "model")
    _land(lake, run_id, wanted.join(answered, on=["request_key", "cell_id"], how="anti").collect())


def _land(lake: Lake, run_id: str, cases: pl.DataFrame) -> None:
    rows = _stand_ins(lake, run_id, cases)
    for (cell_id,), own in rows.partition_by("cell_id", as_dict=True).items():
        before = lake.read("responses", run_id, f"{cell_id}-reused")
        lake.write("responses", run_id, f"{cell_id}-reused", pl.concat([before, own.select(before.columns)]))


def _stand_ins(lake: Lake, run_id: str, cases: pl.DataFrame) -> pl.DataFrame:
    """Rows of `responses` that name the reply they stand on in `reused_from` and cost nothing."""
    newest = (
        lake.scan("responses")
        .filter(
            pl.col("text").is_not_null(),
            pl.col("reused_from").is_null(),
            pl.col("purpose") == "subject",
            pl.col("run_id") != run_id,
        )
        .join(cases.lazy().select("request_key"), on="request_key", how="semi")
        .sort("received_at")
        .unique("request_key", keep="last")
        .collect()
    )
    own = cases.select("request_key", "case_id", "cell_id").unique(["request_key", "cell_id"], keep="first")
    rows = newest.drop("case_id", "cell_id").join(own, on="request_key")
    response_id = pl.concat_str(pl.lit(run_id), "case_id", "response_id", separator="\x1f")
    return rows.with_columns(
        pl.lit(run_id).alias("run_id"),
        pl.col("response_id").alias("reused_from"),
        response_id.map_batches(hashed, return_dtype=pl.String).alias("response_id"),
        pl.lit(0.0).alias("cost_usd"),
        pl.lit(0, dtype=pl.Int64).alias("attempts"),
    )
