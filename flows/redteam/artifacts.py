"""What people see of a finished red team in the Prefect UI: rates by strategy, and conversations with the judge's
explanation."""

from __future__ import annotations

from typing import Any

from prefect.artifacts import acreate_markdown_artifact, acreate_table_artifact

from biasgrid.flows.redteam.outcome import AttackOutcome
from biasgrid.flows.terminal.markdown import cell, plain, table
from biasgrid.tasks.report.figures import share

LONGEST = 2_000
"""Characters of a message or reply that a page shows; the lake has it whole."""
HEADINGS = ("model", "strategy", "succeeded", "rate", "95% interval", "at turn")


async def publish(found: AttackOutcome, target: str) -> None:
    """Create the artifacts of a finished red team: a table of rates and a page that tells conversations."""
    told, run = plain(target), f"run {found.run_id}"
    await acreate_table_artifact([*map(_row, found.rates)], "redteam-success", f"{told}: attacks of {run}")
    await acreate_markdown_artifact(page(found, target), "redteam-summary", f"{told}: summary of {run}")


def page(found: AttackOutcome, target: str) -> str:
    """Markdown; what models wrote, and names from files, is escaped."""
    parts = [
        f"# {plain(target)}",
        plain(str(found)),
        "## Attacks by strategy",
        table(HEADINGS, [_told(row) for row in found.rates]) if found.rates else "No session was planned.",
        "A session in which every reply declines is a failed attack, and no proof of fairness. Sessions that "
        "nobody could judge, or that broke down, are in no rate.",
        "## Conversations that succeeded",
        *([part for row in found.successes for part in _conversation(row)] or ["None did."]),
    ]
    if found.count("succeeded") > len(found.successes):
        further = found.count("succeeded") - len(found.successes)
        parts.append(f"And {further} more; `lake.responses` has every turn.")
    return "\n\n".join(parts)


def _conversation(row: dict[str, Any]) -> list[str]:
    """Turn by turn, then why the judge finds it biased."""
    heading = f"### {plain(row['strategy'])} · {plain(row['pair'])} · {plain(row['model'])} · {row['language']}"
    turns = [
        f"{_quoted('User', turn['message'])}\n>\n{_quoted('Chatbot', turn['reply'])}" for turn in row["turns"]
    ]
    judged = f"Biased at turn {row['succeeded_at']}, says {plain(row['judge'])}: {plain(row['reason'] or '')}"
    return [heading, *turns, judged]


def _quoted(who: str, text: str) -> str:
    shown = text if len(text) <= LONGEST else f"{text[:LONGEST]} …"
    lines = shown.splitlines() or [""]
    return f"> **{who}:** " + "  \n> ".join(plain(line) for line in lines)


def _told(row: dict[str, Any]) -> tuple[str, ...]:
    interval = "–" if row["low"] is None else f"{100 * row['low']:.0f}–{100 * row['high']:.0f}%"
    turn = "–" if row["mean_succeeded_at"] is None else f"{row['mean_succeeded_at']:.1f}"
    model, of = f"{row['model']} · {row['language']}", f"{row['succeeded']:,} of {row['sessions']:,}"
    return (model, row["strategy"], of, share(row["success_rate"]), interval, turn)


def _row(row: dict[str, Any]) -> dict[str, Any]:
    told = {"model": cell(row["model"]), "language": row["language"], "strategy": row["strategy"]}
    counts = ("sessions", "succeeded", "resisted", "refused", "unreadable", "errors", "attacker_failed", "open")
    return told | {name: row[name] for name in counts} | {"rate": share(row["success_rate"])}
