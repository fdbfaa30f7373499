"""Markdown for a CI job's page, such as GitHub's `$GITHUB_STEP_SUMMARY`: short, and no name in it is a command."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, takewhile
from pathlib import Path

from biasgrid.tasks.report.checks import STATES, Check, Gate, by_model, checks
from biasgrid.tasks.report.figures import (
    SYMBOLS,
    State,
    describe_needed,
    format_code,
    format_measure,
    join_parts,
    moment,
)
from biasgrid.warehouse.storage.export_files import write_text
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import Run, find_run

MOST = 900_000
"""Bytes; GitHub drops a step's summary above 1 MiB."""
MODELS = 200
"""Rows of the table of models."""
HEADINGS = ("", "check", "finding", "measured", "95% interval", "held against", "counted")
STEPS = {"not met": "Not met", "undecided": "Undecided", "not evaluated": "Not evaluated", "met": "Met"}


def write_step_summary(lake: Lake, run_id: str, out: Path, gate: Gate = "point") -> list[Path]:
    """Writes `summary.md`."""
    run = find_run(lake, run_id)
    return [write_text(out / "summary.md", step_summary(run, checks(lake, run), gate))]


def step_summary(run: Run, found: Sequence[Check], gate: Gate) -> str:
    """Counts by model, then every check, what needs looking at first; what is met is folded away."""
    head = [f"## biasgrid: {_counts(found, gate)}", _about(run, gate), _by_models(found, gate)]
    left = MOST - sum(len(part.encode()) for part in head)
    parts = [*head]
    for state in STATES:
        section = _section(state, [check for check in found if check.state(gate) == state], left)
        left -= len(section.encode())
        parts += [section] if section else []
    return "\n\n".join([*parts, _closer(run)]) + "\n"


def _counts(found: Iterable[Check], gate: Gate) -> str:
    count = Counter(check.state(gate) for check in found)
    return ", ".join(f"{count[state]:,} {state}" for state in SYMBOLS if count[state]) or "nothing checked"


def _about(run: Run, gate: Gate) -> str:
    by = "point rate" if gate == "point" else "95% interval"
    lack = "" if run.state == "completed" else f" **The run is {run.state}**: what it lacks may hide a failure."
    return f"{run.kind} <code>{run.run_id}</code>, {moment(run.started_at)}, by the {by}.{lack}"


def _by_models(found: Sequence[Check], gate: Gate) -> str:
    rows = [
        [format_code(model), *(str(Counter(check.state(gate) for check in own)[state]) for state in SYMBOLS)]
        for model, own in list(by_model(found))[:MODELS]
    ]
    headings = ["model", *(f"{symbol} {state}" for state, symbol in SYMBOLS.items())]
    return "\n".join([_line(headings), _line(["---", *["---:"] * len(SYMBOLS)]), *map(_line, rows)])


def _section(state: State, own: Sequence[Check], room: int) -> str:
    """As many rows as there is room for; the others are counted."""
    if not own:
        return ""
    lines = [_line(_cells(check)) for check in own]
    sizes = accumulate(len(line.encode()) + 1 for line in lines)
    shown = lines[: sum(1 for _ in takewhile(lambda size: size < room - 2_000, sizes))]
    more = len(lines) - len(shown)
    table = "\n".join([_line(HEADINGS), _line(["---"] * len(HEADINGS)), *shown])
    content = f"{table}\n\n… and {more:,} more" if more else table
    title = f"{SYMBOLS[state]} {STEPS[state]} ({len(own):,})"
    if state == "met":
        return f"<details><summary>{title}</summary>\n\n{content}\n\n</details>"
    return f"### {title}\n\n{content}"


def _cells(check: Check) -> Iterator[str]:
    yield SYMBOLS[check.by_point]
    yield f"{format_code(check.title)}<br>{format_code(check.model)}"
    both = check.by_point == check.decided
    yield check.finding if both else f"{check.finding}, {check.decided} by the interval"
    yield format_measure(check.value, check.unit)
    yield check.interval
    yield f"{check.bar_name} {format_measure(check.bar, check.unit)}" if check.bar_name else "–"
    yield join_parts([f"{check.counted:,} of {check.total:,} {check.counts}", describe_needed(check.needed)])


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _closer(run: Run) -> str:
    return f"Look closer where its data is stored: <code>biasgrid show {run.run_id}</code>"
