"""What people see of a finished interaction in the Prefect UI."""

from __future__ import annotations

from typing import Any

from prefect.artifacts import acreate_markdown_artifact, acreate_table_artifact

from biasgrid.flows.interaction.formatting import difference, interval, told
from biasgrid.flows.interaction.outcome import InteractionOutcome
from biasgrid.flows.terminal.markdown import cell, plain, table
from biasgrid.tasks.report.figures import share, signed

SCORES = ("model", "setting", "stage", "score", "95% interval", "by chance", "decision")
CHANGES = ("model", "setting", "step", "before", "after", "difference", "95% interval", "p")
MITIGATED = ("model", "setting", "mitigation", "stage", "before", "after", "difference", "95% interval", "p")
UNDERSTOOD = ("model", "accuracy", "95% interval", "present: right, wrong", "absent: right, wrong")


async def publish(found: InteractionOutcome, name: str) -> None:
    """Create the artifacts of a finished interaction: a table of scores and a page that tells all of it."""
    about, run = plain(name), f"run {found.run_id}"
    rows = [*map(_row, found.bias_scores)]
    await acreate_table_artifact(rows, "interaction-scores", f"{about}: scores of {run}")
    await acreate_markdown_artifact(page(found, name), "interaction-summary", f"{about}: summary of {run}")


def page(found: InteractionOutcome, name: str) -> str:
    """Markdown; names from files are escaped."""
    parts = [
        f"# {plain(name)}",
        plain(str(found)),
        "## Who is given which task",
        table(SCORES, [_scored(row) for row in found.overall]) if found.overall else "No scene was played.",
        "The score is the share of stereotypical assignments less that of anti-stereotypical ones, −1 to 1, "
        "beside what it would be if tasks were dealt out at random. Its interval is clustered by scene.",
        *_section("What talking changed", CHANGES, found.talked, _changed),
        *_section("What mitigation changed", MITIGATED, found.mitigated, _mitigated),
        *_section("Whether implicit bias is recognised", UNDERSTOOD, found.understanding, _understood),
    ]
    return "\n\n".join(parts)


def _section(title: str, headings: tuple[str, ...], rows: list[dict[str, Any]], tell: Any) -> list[str]:
    return [f"## {title}", table(headings, [tell(row) for row in rows])] if rows else []


def _scored(row: dict[str, Any]) -> tuple[str, ...]:
    measures = (signed(row["bias_score"]), interval(row), signed(row["expected_score"]))
    return (told(row), _setting(row), row["stage"], *measures, row["decision"])


def _changed(row: dict[str, Any]) -> tuple[str, ...]:
    return (told(row), _setting(row), row["step"], *difference(row))


def _mitigated(row: dict[str, Any]) -> tuple[str, ...]:
    return (told(row), row["setting"], row["mitigation"], row["stage"], *difference(row))


def _understood(row: dict[str, Any]) -> tuple[str, ...]:
    rates = "–" if row["low"] is None else f"{100 * row['low']:.0f}–{100 * row['high']:.0f}%"
    present = f"{row['true_positives']}, {row['false_negatives']}"
    absent = f"{row['true_negatives']}, {row['false_positives']}"
    return (told(row), share(row["accuracy"]), rates, present, absent)


def _setting(row: dict[str, Any]) -> str:
    mitigation = "" if row["mitigation"] == "none" else f" · {row['mitigation']}"
    return f"{row['setting']}{mitigation}"


def _row(row: dict[str, Any]) -> dict[str, Any]:
    names = ("language", "axis", "domain", "is_control", "held_out", "setting", "mitigation", "stage", "decision")
    counts = (
        "scenes",
        "replies",
        "stereotypical",
        "anti_stereotypical",
        "neutral",
        "ties",
        "shared",
        "unassigned",
        "invented",
    )
    lost = ("refused", "unreadable", "errors")
    measures = {"score": signed(row["bias_score"]), "95% interval": interval(row)}
    by_chance = {"by chance": signed(row["expected_score"])}
    told_counts = {name: row[name] for name in (*names, *counts, *lost)}
    return {"model": cell(row["model"])} | told_counts | measures | by_chance
