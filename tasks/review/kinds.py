"""What reviewers find in a run, by its kind: drawn, shown, asked and recorded alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import polars as pl

from biasgrid.tasks.review.exchanges import attack_evaluation, judged_exchanges, shown_exchanges
from biasgrid.tasks.review.units import Shown, newest_evaluation, reviewable, shown
from biasgrid.warehouse.storage.lake import Lake


@dataclass(frozen=True, slots=True)
class Kind:
    evaluation: Callable[[Lake, str], str]
    """Of a run, the evaluation whose verdicts count. Raises UserError where nothing has been judged."""
    units: Callable[[Lake, str, str], pl.DataFrame]
    """Of a run and its evaluation, what can be drawn: a row per reply, with what `drawn` and `Record` need."""
    shown: Callable[[Lake, str, pl.DataFrame], dict[str, Shown]]
    """Of a run and some of its units, what a reviewer sees of each, by `unit_id`."""


KINDS: Final[Mapping[str, Kind]] = {
    "benchmark": Kind(newest_evaluation, reviewable, shown),
    "redteam": Kind(attack_evaluation, judged_exchanges, shown_exchanges),
}
"""By the kind of run; those that are not here have no review."""
