"""What a run has sent and paid so far: its caps hold for all of its passes together."""

from __future__ import annotations

import polars as pl

from warehouse.lake import Lake


def spent(lake: Lake, run_id: str) -> tuple[int, float]:
    """Requests sent, retries and a judge's included, and US dollars, where prices are known."""
    own = lake.scan("responses", run_id).filter(pl.col("reused_from").is_null())
    row = own.select(pl.col("attempts").sum(), pl.col("cost_usd").sum()).collect().row(0)
    return int(row[0] or 0), float(row[1] or 0.0)
