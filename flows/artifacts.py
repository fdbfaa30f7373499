"""What people see of a run in the Prefect UI: tags to find it by, a findings table and a summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from prefect.artifacts import acreate_markdown_artifact, acreate_table_artifact
from prefect.client.orchestration import get_client
from prefect.runtime import flow_run

from catalogs.scenario import ResolvedScenario
from flows.markdown import plain
from flows.outcome import Outcome, need, share


async def tag(run_id: str, resolved: ResolvedScenario, part: str | None = None) -> None:
    """Tag the flow run with its run, which part of it it has, its models, concerns and languages."""
    concerns = {requirement.concern for requirement in resolved.requirements}
    languages = {language for requirement in resolved.requirements for language in requirement.languages}
    async with get_client() as client:
        await client.update_flow_run(
            UUID(flow_run.id),
            tags=[*run_tags(run_id, part), *resolved.targets, *sorted(concerns), *sorted(languages)],
        )


def run_tags(run_id: str, part: str | None = None) -> list[str]:
    """By which the flow runs of one run are found."""
    return [f"run:{run_id}", *([f"part:{part}"] if part else [])]


async def publish(found: Outcome, scenario: str) -> None:
    """Create the artifacts of a finished run."""
    await acreate_table_artifact(
        table=[_row(finding) for finding in found.findings],
        key="findings",
        description=f"Findings of run {found.run_id}: {plain(scenario)}",
    )
    await acreate_markdown_artifact(
        markdown=summary(found, scenario), key="summary", description=f"Summary of run {found.run_id}"
    )


async def publish_changes(run_id: str, changed: Sequence[dict[str, Any]]) -> None:
    """Create the artifact that sets a night beside the one before it."""
    await acreate_table_artifact(
        table=[_changed(row) for row in changed],
        key="regressions",
        description=f"Run {run_id} beside the run before it",
    )


def _changed(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "model": row["model"],
        "requirement": row["requirement"],
        "change": row["finding"],
        "passed": share(row["rate"]),
        "before": share(row["earlier_rate"]),
        "prompts": row["prompts"],
        "test": row["test"],
        "q": "–" if row["q_value"] is None else f"{row['q_value']:.3g}",
        "run before": row["earlier_run_id"],
    }


def _row(finding: dict[str, Any]) -> dict[str, Any]:
    return {
        "model": finding["model"],
        "requirement": finding["requirement"],
        "concern": finding["concern"],
        "finding": finding["point_finding"],
        "decision": finding["decision"],
        "needs": need(finding) or "",
        "passed": share(finding["point_rate"]),
        "95% interval": f"{share(finding['interval_low'])} to {share(finding['interval_high'])}",
        "tolerance": share(finding["tolerance"]),
        "refused": share(finding["refusal_rate"]),
        "coverage": share(finding["coverage"]),
        "tests": finding["tests"],
        "cells met": f"{finding['cells_met']}/{finding['cells']}",
    }


def summary(found: Outcome, scenario: str) -> str:
    """Markdown: one line a model, then where the data lies. Names from files are escaped."""
    point, decided = _by_model(found, "point_finding"), _by_model(found, "decision")
    lines = [
        f"# {plain(scenario)}",
        f"Run `{found.run_id}`"
        + (", **incomplete**: coverage is below the scenario's floor" if found.incomplete else ""),
        "",
        "| model | met | not met | not evaluated | decided: met | decided: not met | undecided |",
        "|---|---:|---:|---:|---:|---:|---:|",
        *(
            f"| {plain(model)} | {n['met']} | {n['not met']} | {n['not evaluated']} "
            f"| {decided[model]['met']} | {decided[model]['not met']} | {decided[model]['undecided']} |"
            for model, n in sorted(point.items())
        ),
        "",
        f"Query it: `biasgrid sql \"from marts.requirement_findings where run_id = '{found.run_id}'\"`",
    ]
    return "\n".join(lines)


def _by_model(found: Outcome, column: str) -> dict[str, Counter[str]]:
    counts: dict[str, Counter[str]] = {}
    for row in found.findings:
        counts.setdefault(row["model"], Counter())[row[column]] += 1
    return counts
