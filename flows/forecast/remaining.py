"""Forecast of the requests that still have no reply in a resumed run."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from biasgrid.flows.forecast.benchmark import Forecast, of_models
from biasgrid.warehouse.storage.lake import Lake


def remaining(expected: Forecast, lake: Lake, run_id: str) -> Forecast:
    """`expected` less each model's share of stored replies; replies in crash journals still count as open."""
    left = _open_shares(lake, run_id)
    models = {name: model.share(left.get(name, 1.0)) for name, model in expected.models.items()}
    return of_models(expected, models)


def _open_shares(lake: Lake, run_id: str) -> Mapping[str, float]:
    answered = lake.scan("responses", run_id).filter(pl.col("text").is_not_null(), pl.col("purpose") == "subject")
    asked = lake.scan("cases", run_id).select("model", "request_key").unique()
    left = asked.join(answered, on="request_key", how="anti").group_by("model").agg(pl.len().alias("left"))
    share = (pl.col("left").fill_null(0) / pl.col("all")).alias("share")
    counts = asked.group_by("model").agg(pl.len().alias("all")).join(left, on="model", how="left")
    return dict(counts.select("model", share).collect().iter_rows())
