"""Pages that tell how a run ended: how much is met, what became worse, who asked, where to look closer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from flows.changes import Before
from flows.look_closer import look_closer
from flows.markdown import Markup, plain, table
from flows.outcome import Outcome
from tasks.report.figures import share

HEADINGS = ("model", "met", "not met", "not evaluated", "decided: met", "decided: not met", "undecided")
TESTS = "The tests of a run share a false-discovery rate of 5%: *worse* and *better* are those with q ≤ 0.05."
NAMED = 10
"""Changes that are told in words."""


def summary(
    found: Outcome,
    scenario: str,
    data: str,
    before: Before | None = None,
    shards: Sequence[Sequence[str]] = (),
) -> str:
    """Markdown; names from files are escaped. `data` is where lake and warehouse lie; `shards` are rows of a
    table of who asked: name, how it ended, link."""
    before = before or Before([], [])
    parts = [f"# {plain(scenario)}", _head(found)]
    if before.worse:
        parts += ["## Worse than the run before", _told(before.worse)]
    parts += ["## Requirements", _by_models(found)]
    if shards:
        parts += ["## Asked by", table(("shard", "ended", ""), shards)]
    earlier = before.changes[0]["earlier_run_id"] if before.changes else None
    parts += ["## Look closer", look_closer(found, data, earlier)]
    return "\n\n".join(parts)


def counted(found: Outcome) -> str:
    met = sum(row["point_finding"] == "met" for row in found.findings)
    return f"{met} of {len(found.findings)} requirements met"


def changed_page(before: Before, run_id: str) -> str:
    """Markdown: what became worse, in words, then every requirement beside the run before."""
    earlier = ", ".join(f"`{one}`" for one in dict.fromkeys(row["earlier_run_id"] for row in before.changes))
    worse = _told(before.worse) if before.worse else "Nothing is worse by a test."
    every = table(CHANGED, map(_changed, before.changes))
    return f"# Beside the run before\n\nRun `{run_id}` beside {earlier}\n\n{worse}\n\n{TESTS}\n\n{every}"


CHANGED = ("model", "requirement", "change", "before → now", "prompts", "q", "test")


def _changed(row: dict[str, Any]) -> tuple[str, ...]:
    change = row["finding"]
    return (
        row["model"],
        row["requirement"],
        Markup(f"**{change}**") if change in {"worse", "better"} else change,
        f"{share(row['earlier_rate'])} → {share(row['rate'])}",
        f"{row['prompts']:,}",
        "–" if row["q_value"] is None else f"{row['q_value']:.2g}",
        row["test"],
    )


def _told(worse: Sequence[dict[str, Any]]) -> str:
    more = len(worse) - NAMED
    rest = [f"- and {more} more"] if more > 0 else []
    return "\n".join([*map(_sentence, worse[:NAMED]), *rest])


def _sentence(row: dict[str, Any]) -> str:
    rates = f"passes {share(row['rate'])} of the {row['prompts']:,} prompts that both runs judged"
    sure = f"{row['test']}, q = {row['q_value']:.2g}"
    who = f"**{plain(row['requirement'])}** of {plain(row['model'])}"
    return f"- {who} {rates}, {share(row['earlier_rate'])} before ({sure})"


def _head(found: Outcome) -> str:
    lack = ", **incomplete**: coverage is below the scenario's floor" if found.incomplete else ""
    return f"Run `{found.run_id}`: {counted(found)}{lack}"


def _by_models(found: Outcome) -> str:
    point, decided = _by_model(found, "point_finding"), _by_model(found, "decision")
    rows = [(model, *_numbers(n, decided[model])) for model, n in sorted(point.items())]
    return table(HEADINGS, rows, numbers=True)


def _numbers(point: Counter[str], decided: Counter[str]) -> list[str]:
    by_point = [point[name] for name in ("met", "not met", "not evaluated")]
    return [str(number) for number in (*by_point, *(decided[name] for name in ("met", "not met", "undecided")))]


def _by_model(found: Outcome, column: str) -> dict[str, Counter[str]]:
    counts: dict[str, Counter[str]] = {}
    for row in found.findings:
        counts.setdefault(row["model"], Counter())[row[column]] += 1
    return counts
