"""Formats differences, intervals and p values for the terminal and artifacts."""

from __future__ import annotations

from typing import Any

from biasgrid.tasks.report.figures import format_score


def format_interval_of(row: dict[str, Any]) -> str:
    """Interval of a row from `low` and `high`."""
    return "–" if row["low"] is None else f"{format_score(row['low'])} to {format_score(row['high'])}"


def p_value(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.3f}" if value >= 0.0005 else "<.001"


def difference(row: dict[str, Any]) -> tuple[str, ...]:
    """Score before and after, difference, interval and p value."""
    return (*map(format_score, measures(row)), format_interval_of(row), p_value(row["p_value"]))


def measures(row: dict[str, Any]) -> tuple[float | None, ...]:
    """Score before, score after and difference, for escalation and mitigation alike."""
    names = ("first_score", "last_score") if "first_score" in row else ("score_before", "score_after")
    return (*(row[name] for name in names), row["difference"])


def format_subject(row: dict[str, Any]) -> str:
    """Subject of a row: model, language, and axis if present."""
    parts = (row["model"], row["language"], row.get("axis"))
    return " · ".join(part for part in parts if part)
