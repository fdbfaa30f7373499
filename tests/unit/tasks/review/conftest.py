from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest


@pytest.fixture(scope="session")
def units() -> Callable[..., pl.DataFrame]:
    """Replies that can be reviewed: `units({("one", "passed"): 90, …})`, so many of each model × outcome."""

    def made(counts: dict[tuple[str, str], int]) -> pl.DataFrame:
        rows = [
            (f"r{model}{outcome}{n}", model, outcome, "sexism", "en_us", f"c-{model}", f"{outcome}-{n}")
            for (model, outcome), count in counts.items()
            for n in range(count)
        ]
        names = ("unit_id", "model", "stratum", "concern", "language", "cell_id", "case_id")
        frame = pl.DataFrame(rows, schema=list(names), orient="row")
        return frame.with_columns(
            run_id=pl.lit("run"),
            response_id=pl.concat_str(pl.lit("of "), "case_id"),
            rule_key=pl.lit("rule"),
            template_id=pl.lit("t"),
            sample=pl.lit(1),
        )

    return made
