"""`biasgrid runs`: each run with its short id, scenario, models, state, result and age."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final

import orjson
from rich.text import Text

from biasgrid.catalogs.errors import UserError
from biasgrid.flows.terminal.console import console, one_line
from biasgrid.flows.terminal.tables import rich_table
from biasgrid.tasks.report.model import headings
from biasgrid.tasks.report.verdicts import VERDICTS, WORST_FIRST, State
from biasgrid.warehouse.build.build import query
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.run_lock import current_state
from biasgrid.warehouse.storage.runs import Run, all_runs, short_ids
from biasgrid.warehouse.storage.tombstones import find_tombstones

WIDE: Final = 1000
UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"))
VERDICTS_OF_MODELS: Final = """
    with states as (
        select run_id, model, decision as state from marts.requirement_findings
        union all
        select run_id, model, state from marts.probe_findings
        union all
        select run_id, model, state from marts.attack_success
        union all
        select run_id, model, state from marts.bias_scores where domain = 'all' and not is_control
        union all
        select run_id, model, state from marts.score_shifts where is_decisive
        union all
        select run_id, model, state from marts.impact_ratios where least_ratio is not null
    )

    select run_id, model, list(distinct state) as states from states group by run_id, model
"""


def list_runs(lake: Lake) -> None:
    """Prints the runs, newest first."""
    runs, forgotten = all_runs(lake), find_tombstones(lake)
    if not runs:
        console().print("no run yet: start one with `biasgrid run SCENARIO`")
        return
    results, short = _results(lake), short_ids(runs)
    table = rich_table(*headings("run", "scenario", "models", "state", "result", "age"), wraps=True)
    for run in reversed(runs):
        state = "forgotten" if run.run_id in forgotten else current_state(lake, run)
        name, models = _describe(run)
        row = (short[run.run_id], name, models, state, results.get(run.run_id, "–"), format_age(run.started_at))
        table.add_row(
            *(Text(one_line(cell), no_wrap=at in (1, 2), overflow="ellipsis") for at, cell in enumerate(row))
        )
    out = console()
    for column in (0, 3, 5):
        table.columns[column].no_wrap = True
    # a pipe has no width: names are cut on a terminal alone
    if not out.is_terminal:
        out.width = WIDE
    out.print(table)


def _results(lake: Lake) -> dict[str, str]:
    """How many models have which verdict, by run; nothing where there is no readable warehouse."""
    counts: dict[str, Counter[State]] = {}
    with suppress(UserError):
        for run_id, _, states in query(lake, VERDICTS_OF_MODELS).iter_rows():
            state = next(one for one in WORST_FIRST if one in states)
            counts.setdefault(run_id, Counter())[state] += 1
    return {run_id: _count(own) for run_id, own in counts.items()}


def _count(states: Counter[State]) -> str:
    return ", ".join(f"{states[one]} {verdict.word}" for one, verdict in VERDICTS.items() if states[one])


def _describe(run: Run) -> tuple[str, str]:
    """The scenario, or the kind of run; and its model, or how many."""
    resolved = orjson.loads(run.scenario_resolved or "{}")
    settings: dict[str, Any] = next(
        (own for key in ("scenario", "target", run.kind) if isinstance(own := resolved.get(key), dict)), {}
    )
    models: list[str] = settings.get("models") or []
    models = [*models, "its endpoint"] if settings.get("endpoint") else models
    named = resolved.get("name") if "scenario" in resolved else None
    return str(named or run.kind), models[0] if len(models) == 1 else f"{len(models)} models" if models else "–"


def format_age(since: datetime | None) -> str:
    """How long ago, in the largest whole unit: `3 h`."""
    if since is None:
        return "–"
    seconds = max(0.0, (datetime.now(UTC) - since.astimezone(UTC)).total_seconds())
    return next((f"{seconds // size:.0f} {unit}" for size, unit in UNITS if seconds >= size), f"{seconds:.0f} s")
