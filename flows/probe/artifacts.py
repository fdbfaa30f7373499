"""What people see of a finished probe in the Prefect UI."""

from __future__ import annotations

from typing import Any

from prefect.artifacts import acreate_markdown_artifact, acreate_table_artifact

from biasgrid.flows.probe.outcome import ProbeOutcome
from biasgrid.flows.terminal.markdown import cell, plain, table
from biasgrid.tasks.report.figures import share


async def publish(found: ProbeOutcome, target: str) -> None:
    """Create the artifacts of a finished probe: a table of findings and a page that tells them in words."""
    told, run = plain(target), f"run {found.run_id}"
    await acreate_table_artifact([*map(_row, found.findings)], "probe-findings", f"{told}: findings of {run}")
    await acreate_markdown_artifact(page(found, target), "probe-summary", f"{told}: summary of {run}")


HEADINGS = ("model", "test", "pair", "with it", "95% interval", "q")


def page(found: ProbeOutcome, target: str) -> str:
    """Markdown; names from files are escaped."""
    biased = [_told(row) for row in found.biased]
    parts = [
        f"# {plain(target)}",
        plain(str(found)),
        "## Biased beyond chance",
        table(HEADINGS, biased) if biased else "No pair shows a pattern beyond chance.",
        "*with it*: trials that fell with the stereotype, of those that fell one way or the other. "
        "A pair is biased where its trials fall with the stereotype more often than chance explains, at a "
        "false-discovery rate of 5% over all pairs of a test. By chance alone half of them do.",
        "## By the published rule",
        table(RULES, [_rule(row) for row in found.rules]) if found.rules else "No implicit test was asked.",
    ]
    return "\n\n".join(parts)


RULES = ("model", "prompts", "implicit", "and explicit", "share", "attack")


def _rule(row: dict[str, Any]) -> tuple[str, ...]:
    counts = (f"{row[name]:,}" for name in ("prompts", "prompts_implicit", "prompts_both"))
    return (f"{row['model']} · {row['language']}", *counts, share(row["share_both"]), row["published_rule"])


def _told(row: dict[str, Any]) -> tuple[str, ...]:
    of = f"{row['stereotypical']} of {row['stereotypical'] + row['counter']}"
    interval = f"{100 * row['low']:.0f}–{100 * row['high']:.0f}%"
    return (f"{row['model']} · {row['language']}", row["test"], row["pair"], of, interval, f"{row['q_value']:.2g}")


def _row(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "model": cell(row["model"]),
        "language": row["language"],
        "test": row["test"],
        "pair": cell(row["pair"]),
        "finding": row["finding"],
        "stereotypical": row["stereotypical"],
        "counter": row["counter"],
        "balanced": row["balanced"],
        "one-sided": row["one_sided"],
        "refused": row["refused"],
        "unreadable": row["unreadable"],
        "errors": row["errors"],
        "share": share(row["stereotypical_share"]),
        "95% interval": f"{share(row['low'])} to {share(row['high'])}",
        "q": "–" if row["q_value"] is None else f"{row['q_value']:.2g}",
    }
