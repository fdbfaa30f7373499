"""What a run found, on the terminal again: as it was shown when the run ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from flows.attack_outcome import attack_outcome
from flows.attack_table import show_attacks
from flows.concern_bars import show_bars
from flows.findings_table import show_outcome
from flows.interaction_outcome import interaction_outcome
from flows.interaction_table import show_interaction
from flows.outcome import outcome
from flows.preparation import existing_lake
from flows.probe_outcome import probe_outcome
from flows.probe_table import show_probe
from flows.terminal import console
from warehouse.lake import Lake
from warehouse.runs import find


def show_run(run: str | None, data: str | Path | None = None) -> None:
    """Raises UserMistake for an unknown run, or where no warehouse has been built."""
    lake = existing_lake(data)
    found = find(lake, run)
    SHOWN[found.kind](lake, found.run_id)


def _benchmark(lake: Lake, run_id: str) -> None:
    ended = outcome(lake, run_id)
    show_bars(console(), ended.findings)
    show_outcome(ended)


SHOWN: Mapping[str, Callable[[Lake, str], None]] = {
    "benchmark": _benchmark,
    "probe": lambda lake, run_id: show_probe(probe_outcome(lake, run_id)),
    "redteam": lambda lake, run_id: show_attacks(attack_outcome(lake, run_id)),
    "interaction": lambda lake, run_id: show_interaction(interaction_outcome(lake, run_id)),
}
"""By kind of run."""
