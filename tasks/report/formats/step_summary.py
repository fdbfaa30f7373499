"""Markdown for a CI job's page, such as GitHub's `$GITHUB_STEP_SUMMARY`: short, and no name in it is a command."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, takewhile
from pathlib import Path

from biasgrid.tasks.report.answer import answer
from biasgrid.tasks.report.checks import Check, Gate, by_model, checks
from biasgrid.tasks.report.figures import (
    describe_needed,
    escape_markdown,
    format_code,
    format_measure,
    join_parts,
    moment,
)
from biasgrid.tasks.report.verdicts import VERDICTS, WORST_FIRST, State
from biasgrid.warehouse.storage.export_files import write_text
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import Run, find_run

MOST = 900_000
"""Bytes; GitHub drops a step's summary above 1 MiB."""
MODELS = 200
"""Rows of the table of models."""
HEADINGS = ("", "check", "finding", "measured", "95% interval", "held against", "counted")


def write_step_summary(lake: Lake, run_id: str, out: Path, gate: Gate = "point") -> list[Path]:
    """Writes `summary.md`."""
    run = find_run(lake, run_id)
    sentences = answer(lake, run_id).sentences()
    return [write_text(out / "summary.md", step_summary(run, checks(lake, run), gate, sentences))]


def step_summary(run: Run, found: Sequence[Check], gate: Gate, sentences: Sequence[str] = ()) -> str:
    """The answer in words, counts by model, then every check, what needs looking at first; what is met is folded
    away."""
    first, *rest = map(escape_markdown, sentences or (_counts(check.decided for check in found),))
    head = [f"## biasgrid: {first}", *rest, _about(run, found, gate), _by_models(found)]
    left = MOST - sum(len(part.encode()) for part in head)
    parts = [*head]
    for state in WORST_FIRST:
        section = _section(state, [check for check in found if check.decided == state], left)
        left -= len(section.encode())
        parts += [section] if section else []
    closer = f"Look closer where its data is stored: <code>biasgrid show {run.run_id}</code>"
    return "\n\n".join([*parts, closer]) + "\n"


def _counts(found: Iterable[State]) -> str:
    count = Counter(found)
    counted = [f"{count[state]:,} {verdict.word}" for state, verdict in VERDICTS.items() if count[state]]
    return ", ".join(counted) or "nothing checked"


def _about(run: Run, found: Iterable[Check], gate: Gate) -> str:
    by = "point rate" if gate == "point" else "95% interval"
    lack = "" if run.state == "completed" else f" **The run is {run.state}**: what it lacks may hide a failure."
    goes_by = f"The exit code goes by the {by}: {_counts(check.state(gate) for check in found)}."
    return f"{run.kind} <code>{run.run_id}</code>, {moment(run.started_at)}. {goes_by}{lack}"


def _by_models(found: Sequence[Check]) -> str:
    rows = [
        [format_code(model), *(str(Counter(check.decided for check in own)[state]) for state in VERDICTS)]
        for model, own in list(by_model(found))[:MODELS]
    ]
    headings = ["model", *(f"{verdict.sign} {verdict.word}" for verdict in VERDICTS.values())]
    return "\n".join([_line(headings), _line(["---", *["---:"] * len(VERDICTS)]), *map(_line, rows)])


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
    title = f"{VERDICTS[state].sign} {VERDICTS[state].word.capitalize()} ({len(own):,})"
    if state == "met":
        return f"<details><summary>{title}</summary>\n\n{content}\n\n</details>"
    return f"### {title}\n\n{content}"


def _cells(check: Check) -> Iterator[str]:
    yield VERDICTS[check.decided].sign
    yield f"{format_code(check.title)}<br>{format_code(check.model)}"
    yield check.words
    yield format_measure(check.value, check.unit)
    yield check.interval
    yield f"{check.bar_name} {format_measure(check.bar, check.unit)}" if check.bar_name else "–"
    counts = f"{check.counted:,} of {check.total:,} {check.counts}"
    yield join_parts([counts, escape_markdown(check.groups), describe_needed(check.needed)])


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
