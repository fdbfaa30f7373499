"""What the marts say about one run, as frames. Nothing is computed here that a mart holds."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from warehouse.build import query
from warehouse.lake import Lake
from warehouse.recorded import run_row

MARTS = ("requirement_findings", "pass_rates", "deltas", "refusals", "costs")
"""Marts that say something about one run."""
OF_PROBES = ("probe_findings", "probe_outcomes", "costs")
"""Marts that say something about a probe."""
OF_RED_TEAMS = ("attack_success", "attack_judge_agreement", "costs")
"""Marts that say something about a red team."""
OF_INTERACTIONS = (
    "bias_scores",
    "escalation",
    "self_corrections",
    "mitigations",
    "understanding",
    "choices",
    "costs",
)
"""Marts that say something about an interaction, but for its assignments task by task."""
BENCHMARKS = ("bbq_bias_scores", "crows_pairs_scores", "iat_scores")
"""Marts that say something about a run of an imported benchmark, and are empty for the others."""


@dataclass(frozen=True, slots=True)
class Findings:
    """One run's rows of the marts; columns are described in `warehouse/models/marts/*.yml`."""

    run_id: str
    requirements: pl.DataFrame
    """A row per requirement and model: met, not met or not evaluated, with coverage."""
    cells: pl.DataFrame
    """A row per requirement, model, language, input and reflection: rates and counts."""
    deltas: pl.DataFrame
    """A row per same-value test: spread between communities."""
    refusals: pl.DataFrame
    """A row per model, concern and community."""
    costs: pl.DataFrame
    """A row per model."""

    @property
    def is_complete(self) -> bool:
        """Whether every requirement and model reached its floor of coverage; an empty run is not complete."""
        return self.requirements.height > 0 and bool(self.requirements["is_complete"].all())

    @property
    def all_met(self) -> bool:
        return self.requirements.height > 0 and bool((self.requirements["point_finding"] == "met").all())


def findings(lake: Lake, run_id: str) -> Findings:
    """The findings of one run. Raises `UserMistake` where there is no warehouse or no such run in it."""
    run_row(lake, run_id)
    return Findings(run_id, *(mart(lake, name, run_id) for name in MARTS))


def mart(lake: Lake, name: str, run_id: str) -> pl.DataFrame:
    """One run's rows of the mart `name`, of those named above, in the order of its ids."""
    known = dict.fromkeys(MARTS + OF_PROBES + OF_RED_TEAMS + OF_INTERACTIONS + BENCHMARKS)
    if name not in known:
        raise ValueError(f"`{name}` is no mart of one run; known: {', '.join(known)}")
    return query(lake, f"select * from marts.{name} where run_id = ? order by all", [run_id])  # noqa: S608
