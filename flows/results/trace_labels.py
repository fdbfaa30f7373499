"""What a trace says beside its ids, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from biasgrid.flows.terminal.console import dollars
from biasgrid.tasks.aggregate.trace.benchmark import Trace
from biasgrid.tasks.report.figures import format_count

EXPECTED = 6
"""Expected values that are told of an oracle."""


def demand(row: Mapping[str, Any]) -> str:
    """What a requirement asks for, of a row of its finding."""
    if row["tolerance"] is None:
        return "nothing judged yet"
    return (
        f"at least {100 * row['tolerance']:g}% of tests pass, "
        f"spread at most {100 * row['delta']:g}% of the scale, refusals {row['refusals_rule']}"
    )


def oracle(test: Mapping[str, Any]) -> str:
    """By what a template's replies are judged."""
    expected = orjson.loads(test["oracle"] or "{}").get("expected") or []
    values = ", ".join(f"`{value}`" for value in expected[:EXPECTED])
    more = f" and {len(expected) - EXPECTED} more" if len(expected) > EXPECTED else ""
    return f"oracle {test['operation']}{': ' if values else ''}{values}{more}"


def why(test: Mapping[str, Any]) -> str:
    """Why a template test came out as it did; empty where nobody says."""
    if test["spread"] is None:
        return f" – {test['reason']}" if test["reason"] else ""
    return (
        f" – {test['min_value']:f} ({test['communities_at_min']}) to {test['max_value']:f} "
        f"({test['communities_at_max']}): spread {test['spread']:f}, admissible {test['admissible_spread']:f}"
    )


def instances(test: Mapping[str, Any]) -> str:
    """How the prompts of a template test came out."""
    outcomes = ("passed", "failed", "refused", "unreadable", "errors")
    known = {name: test[name] for name in outcomes if test[name]}
    numbers = test["instances"] - sum(known.values())
    return counts({"numbers": numbers} | known if numbers else known)


def circumstances(row: Mapping[str, Any]) -> str:
    """When and how a response came, with a space before it; empty where nothing is known."""
    parts = [f"{row['received_at']:%Y-%m-%d %H:%M:%S} UTC"] if row["received_at"] else []
    if row["reused_from"]:
        run = f" of run {row['reused_from_run']}" if row["reused_from_run"] else ""
        parts.append(f"reused from {row['reused_from']}{run}")
    elif row["latency_ms"] is not None:
        parts.append(f"{row['latency_ms']:.0f} ms")
    if (row["attempts"] or 1) > 1:
        parts.append(f"{row['attempts']} attempts")
    if row["cost_usd"]:
        parts.append(dollars(row["cost_usd"]))
    if not row["is_answer"] and row["purpose"] == "subject":
        parts.append("another one counts")
    return f" {', '.join(parts)}" if parts else ""


def assessed(row: Mapping[str, Any]) -> str:
    """What a judge or a person makes of a reply, beside its verdict."""
    kind = "decision" if row["purpose"] == "decision" else "blind assessment"
    carried = ", from an earlier evaluation" if row["carried_from"] else ""
    why = f" – {row['reason']}" if row["reason"] else ""
    said = row["outcome"] or f"none: {row['state']}"
    return f"{kind}{carried}: {said}{why} (by {row['assessor_kind']} {row['assessor']}; {row['assessment_id']})"


def counts(outcomes: Mapping[str, int]) -> str:
    """Outcomes with how many have each."""
    return ", ".join(f"{count:,} {outcome}" for outcome, count in outcomes.items()) or "none"


def hints(found: Trace) -> Iterable[str]:
    """How to see more of a trace, or less."""
    if found.stands_in:
        yield f"the reply was used again for {format_count(found.stands_in, 'further prompt')}"
    if found.origin.other_runs:
        runs = format_count(len(found.origin.other_runs), "other run")
        yield f"also in {runs}: --run {found.origin.other_runs[0]}"
    if not found.is_whole:
        yield (
            f"{len(found.cases)} of {format_count(found.prompts, 'prompt')} shown, those first that did not pass; "
            "for others trace an id from above, or add --model MODEL or --examples N"
        )
    yield "how the finding was computed: add --sql"
