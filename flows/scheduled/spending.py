"""What the nights of a scenario cost and how long they take: their trend, and the alarm beyond a bound."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median
from typing import Final

from biasgrid.flows.benchmark.previous_runs import NIGHTS
from biasgrid.flows.benchmark.trend_chart import bars
from biasgrid.flows.runs.outcome import read_rows
from biasgrid.flows.scheduled.causes import COSTLY, Cause, other_cause
from biasgrid.tasks.connectors.client.retry import format_seconds
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import Run

SPENT: Final = """
    select
        earlier.run_id,
        earlier.cost_usd,
        date_diff('second', earlier.started_at, earlier.ended_at)::double as seconds
    from marts.runs as own
    inner join marts.runs as earlier using (kind, scenario_hash)
    where own.run_id = ? and earlier.run_id <= own.run_id
      and (earlier.run_id = own.run_id or earlier.state = 'completed')
    order by earlier.run_id
"""
"""Runs of the very same scenario, which alone ask as much."""
FEWEST: Final = 3
"""Earlier nights that a median needs."""
LEAST_USD, LEAST_S = 0.05, 300.0
"""A smaller difference is no reason to wake anybody."""


@dataclass(frozen=True, slots=True)
class Series:
    """One quantity over nights, oldest first, this night last; None where it is not known."""

    name: str
    values: Sequence[float | None]
    least: float
    format: Callable[[float], str]

    @property
    def usual(self) -> float | None:
        """Median of the earlier nights; None if they are too few."""
        known = [value for value in self.values[:-1] if value is not None]
        return median(known) if len(known) >= FEWEST else None

    @property
    def row(self) -> tuple[str, str, str, str]:
        """Name, bars up to the largest, the usual value and that of this night."""
        largest = max((value for value in self.values if value is not None), default=0.0) or 1.0
        drawn = bars([None if value is None else value / largest for value in self.values])
        usual, now = self.usual, self.values[-1]
        return (self.name, drawn, self._show(usual), self._show(now))

    def _show(self, value: float | None) -> str:
        return "–" if value is None else self.format(value)

    def cause(self, bound: float, since: datetime | None) -> Cause | None:
        """Of an alarm if this night exceeds `bound` × the usual value."""
        usual, now = self.usual, self.values[-1]
        if not bound or usual is None or now is None or now <= max(bound * usual, usual + self.least):
            return None
        about = f"{self.name} {self.format(now)}, usually {self.format(usual)}"
        line = f"{about}: more than {bound:g} × the median of {len(self.values) - 1} nights of the same scenario"
        return other_cause(COSTLY, about, since, line, key=self.name)


def read_spending(lake: Lake, run: Run, *, is_resumed: bool) -> list[Series]:
    """Cost and duration of the last nights; this one lasts until now; one resumed later has no duration."""
    (rows,) = read_rows(lake, run.run_id, SPENT)
    shown = rows[-NIGHTS:]
    took = None if is_resumed else (datetime.now(UTC) - run.started_at).total_seconds()
    seconds = [took if row["run_id"] == run.run_id else row["seconds"] for row in shown]
    costs = [row["cost_usd"] for row in shown]
    return [
        Series("cost", costs, LEAST_USD, lambda usd: f"${usd:,.2f}"),
        Series("duration", seconds, LEAST_S, format_seconds),
    ]


def spending_causes(spending: Sequence[Series], bound: float, since: datetime | None) -> Iterator[Cause]:
    """Causes of what was exceeded."""
    for series in spending:
        if cause := series.cause(bound, since):
            yield cause
