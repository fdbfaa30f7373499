"""The replies of a run that can be reviewed, for each kind that has a review."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import polars as pl

from biasgrid.tasks.review.exchanges import attack_evaluation, judged_exchanges, show_exchanges
from biasgrid.tasks.review.units import Shown, newest_evaluation, reviewable, show_units
from biasgrid.warehouse.storage.lake import Lake


@dataclass(frozen=True, slots=True)
class Kind:
    evaluation: Callable[[Lake, str], str]
    """Evaluation of a run whose verdicts count; raises UserError if nothing has been judged."""
    units: Callable[[Lake, str, str], pl.DataFrame]
    """Reviewable units of an evaluation: a row per reply, with the columns of `draw_sample` and `Record`."""
    shown: Callable[[Lake, str, pl.DataFrame], dict[str, Shown]]
    """Texts for reviewers of these units of a run, by `unit_id`."""


BENCHMARK: Final = Kind(newest_evaluation, reviewable, show_units)
RED_TEAM: Final = Kind(attack_evaluation, judged_exchanges, show_exchanges)
