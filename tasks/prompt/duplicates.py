"""Requests that a run holds several times: two requirements may ask a model the same. Each is sent once."""

from __future__ import annotations

from typing import Any

import polars as pl

from biasgrid.tasks.connectors.api import Answer, Reply
from biasgrid.warehouse.storage.lake import Lake


def repeated(lake: Lake, run_id: str) -> dict[str, Answer | None]:
    """The request keys that more than one case of the run has, each with its reply if that has landed."""
    keys = lake.scan("cases", run_id).group_by("request_key").len().filter(pl.col("len") > 1)
    known: dict[str, Answer | None] = dict.fromkeys(keys.collect()["request_key"])
    if known:
        landed = lake.scan("responses", run_id).join(keys, on="request_key", how="semi")
        paid = landed.filter(pl.col("text").is_not_null(), pl.col("reused_from").is_null()).collect()
        known |= {row["request_key"]: _answer(row) for row in paid.iter_rows(named=True)}
    return known


def _answer(row: dict[str, Any]) -> Answer:
    reply = Reply(
        text=row["text"],
        finish_reason=row["finish_reason"],
        input_tokens=row["input_tokens"],
        output_tokens=row["output_tokens"],
        model_reported=row["model_reported"],
    )
    return Answer(reply, None, row["attempts"], row["latency_ms"], row["received_at"])
