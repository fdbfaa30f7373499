"""Markdown pages that summarise a finished run: findings, regressions, shards and next steps."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from biasgrid.flows.benchmark.outcome import Outcome, explain_unqualified
from biasgrid.flows.benchmark.previous_runs import EarlierRuns
from biasgrid.flows.terminal.markdown import Markup, block, plain, table
from biasgrid.tasks.report.figures import share
from biasgrid.tasks.report.verdicts import word_of

TRACED = 12
"""Maximum number of findings with a trace command, worst of each model first."""


def next_steps(found: Outcome, data: str, earlier: str | None = None) -> str:
    """Markdown: reports, the comparison with the run `earlier`, and the way from what is not met to each reply;
    `data` is its location."""
    lines = [_command("report", found.run_id, data=data)]
    if earlier:
        lines.append(_command("compare", earlier, found.run_id, data=data))
    query = f"from marts.requirement_findings where run_id = '{found.run_id}'"
    lines.append(f'biasgrid sql "{query}" --data {shlex.quote(data)}')
    return block(lines) + _traces(found, data)


def _traces(found: Outcome, data: str) -> str:
    unmet = [row for row in found.findings if row["point_finding"] != "met"]
    if not unmet:
        return ""
    lines = [line for row in unmet[:TRACED] for line in _trace(row, found.run_id, data)]
    more = len(unmet) - TRACED
    rest = f"\n\n… and {more} more, in the same way" if more > 0 else ""
    return f"\n\nWhat is not met, from the requirement to each prompt, reply and verdict:\n\n{block(lines)}{rest}"


def _trace(row: dict[str, Any], run_id: str, data: str) -> Iterator[str]:
    rates = f"{share(row['rate'])} of {row['measure']} passed, tolerance {share(row['tolerance'])}"
    yield f"# {row['requirement']}, {row['model']}: {word_of(row['point_finding'])}, {rates}"
    words = ("trace", row["requirement"], "--kind", "requirement", "--model", row["model"], "--run", run_id)
    yield _command(*words, data=data)


def _command(*words: str, data: str) -> str:
    return shlex.join(["biasgrid", *words, "--data", data])


BY_POINT, DECIDED = ("met", "not met", "not evaluated"), ("met", "not met", "undecided")
HEADINGS = ("model", *(f"{word_of(one)} by the point rate" for one in BY_POINT), *map(word_of, DECIDED))
TESTS = "The tests of a run share a false-discovery rate of 5%: *worse* and *better* are those with q ≤ 0.05."
NAMED = 10
"""Maximum number of changes described in words."""


@dataclass(frozen=True, slots=True)
class NightTables:
    """Rows that only a night has."""

    shards: Sequence[Sequence[str]] = ()
    """Name, outcome and link."""
    gaps: Sequence[Sequence[str]] = ()
    """Model, error, cases, since and reason of what has no reply."""
    spending: Sequence[Sequence[str]] = ()
    """Name, bars of the last nights, usual and this night's value of cost and duration."""


def summary(
    found: Outcome,
    scenario: str,
    data: str,
    before: EarlierRuns | None = None,
    night: NightTables | None = None,
    sentences: Sequence[str] = (),
) -> str:
    """Markdown with escaped names; `data` is the data location, `sentences` are the answer in words."""
    before, night = before or EarlierRuns([], []), night or NightTables()
    parts = [f"# {plain(scenario)}", *map(plain, sentences), _head(found)]
    if before.worse:
        parts += ["## Worse than the run before", _worse_lines(before.worse)]
    parts += ["## Requirements", _by_models(found)]
    if night.gaps:
        resume = block([_command("resume", found.run_id, data=data)])
        parts += ["## Without a reply", table(("model", "error", "cases", "since", "reason"), night.gaps), resume]
    if night.spending:
        parts += ["## Cost and duration", table(("", "last nights", "usual", "this night"), night.spending)]
    if night.shards:
        parts += ["## Asked by", table(("shard", "ended", ""), night.shards)]
    earlier = before.changes[0]["earlier_run_id"] if before.changes else None
    parts += ["## Look closer", next_steps(found, data, earlier)]
    return "\n\n".join(parts)


def changed_page(before: EarlierRuns, run_id: str) -> str:
    """Markdown with regressions in words, then every requirement compared with the previous run."""
    earlier = ", ".join(f"`{one}`" for one in dict.fromkeys(row["earlier_run_id"] for row in before.changes))
    worse = _worse_lines(before.worse) if before.worse else "Nothing is worse by a test."
    every = table(CHANGED, map(_change_row, before.changes))
    return f"# Comparison with the run before\n\nRun `{run_id}` against {earlier}\n\n{worse}\n\n{TESTS}\n\n{every}"


CHANGED = ("model", "requirement", "change", "before → now", "templates", "q", "test")


def _change_row(row: dict[str, Any]) -> tuple[str, ...]:
    change = row["finding"]
    return (
        row["model"],
        row["requirement"],
        Markup(f"**{change}**") if change in {"worse", "better"} else change,
        f"{share(row['earlier_rate'])} → {share(row['rate'])}",
        f"{row['templates']:,}",
        "–" if row["q_value"] is None else f"{row['q_value']:.2g}",
        row["test"],
    )


def _worse_lines(worse: Sequence[dict[str, Any]]) -> str:
    more = len(worse) - NAMED
    rest = [f"- and {more} more"] if more > 0 else []
    return "\n".join([*map(_sentence, worse[:NAMED]), *rest])


def _sentence(row: dict[str, Any]) -> str:
    rates = f"passes {share(row['rate'])} over the {row['templates']:,} templates that both runs judged"
    sure = f"{row['test']}, q = {row['q_value']:.2g}"
    who = f"**{plain(row['requirement'])}** of {plain(row['model'])}"
    return f"- {who} {rates}, {share(row['earlier_rate'])} before ({sure})"


def _head(found: Outcome) -> str:
    unqualified = "; ".join(plain(explain_unqualified(row)) for row in found.unqualified)
    why = unqualified or "coverage is below the scenario's floor"
    lack = f", **incomplete**: {why}" if found.incomplete else ""
    return f"Run `{found.run_id}`: {found.counts}{lack}"


def _by_models(found: Outcome) -> str:
    point, decided = _by_model(found, "point_finding"), _by_model(found, "decision")
    rows = [(model, *_numbers(n, decided[model])) for model, n in sorted(point.items())]
    return table(HEADINGS, rows, numbers=True)


def _numbers(point: Counter[str], decided: Counter[str]) -> list[str]:
    return [str(number) for number in (*(point[name] for name in BY_POINT), *(decided[name] for name in DECIDED))]


def _by_model(found: Outcome, column: str) -> dict[str, Counter[str]]:
    counts: dict[str, Counter[str]] = {}
    for row in found.findings:
        counts.setdefault(row["model"], Counter())[row[column]] += 1
    return counts
