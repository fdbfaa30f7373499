"""Which replies a judge hears: a seeded sample of those that the oracle passed, and of those that it failed."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from biasgrid.catalogs.schema.entries import JudgeSample, ScenarioSettings
from biasgrid.warehouse.hashing import places

_UNLESS_TOLD = JudgeSample()


@dataclass(frozen=True, slots=True)
class Hearing:
    """Shares of the oracle's verdicts that a judge hears, the seed that draws them, and what its word counts."""

    passed: float = _UNLESS_TOLD.passed
    failed: float = _UNLESS_TOLD.failed
    overrules: bool = True
    """Whether its verdict takes the oracle's place on replies that failed."""
    seed: int = 0

    @classmethod
    def of(cls, settings: ScenarioSettings) -> Hearing:
        sample = settings.judge_sample
        return cls(sample.passed, sample.failed, settings.judge_overrules, settings.seed)

    def drawn(self, verdicts: pl.DataFrame) -> pl.DataFrame:
        """Those of `verdicts` (case_id, outcome) that the judge hears, with `probability` and `seed`.

        A case lies in the sample or not by its id and the seed alone: asked again, the judge hears the same, and a
        greater share holds the smaller one.
        """
        shares = {"passed": self.passed, "failed": self.failed}
        share = pl.col("outcome").replace_strict(shares, default=0.0, return_dtype=pl.Float64)
        wanted = verdicts.with_columns(probability=share, seed=pl.lit(self.seed, pl.Int64))
        wanted = wanted.filter(pl.col("probability") > 0)
        place = places(f"judge\x1f{self.seed}\x1f{case_id}" for case_id in wanted["case_id"])
        return wanted.filter(place < wanted["probability"])
