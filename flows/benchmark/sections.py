"""Renders benchmark findings as sections for the terminal and Prefect artifacts."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from biasgrid.flows.benchmark.grid_chart import grid_page
from biasgrid.flows.benchmark.outcome import Outcome, describe_judge, explain_unqualified
from biasgrid.flows.benchmark.previous_runs import EarlierRuns, compare_with_earlier
from biasgrid.flows.benchmark.summary import NightTables, changed_page, summary
from biasgrid.flows.forecast.confirmation import announce as announce
from biasgrid.flows.forecast.view import show_forecast as show_forecast
from biasgrid.flows.terminal.markdown import cell, plain
from biasgrid.tasks.connectors.task import artifact_key
from biasgrid.tasks.report.answer import answer
from biasgrid.tasks.report.figures import MOST_TEMPLATES, describe_needed, share
from biasgrid.tasks.report.model import (
    Cell,
    Heading,
    Row,
    Section,
    Table,
    Text,
    format_interval,
    incomplete_lines,
    mark,
    numbers,
    place_lines,
)
from biasgrid.tasks.report.verdicts import TONES, VERDICTS, word_of
from biasgrid.warehouse.storage.lake import Lake

HEADINGS: Final = (
    *(Heading("requirement"), Heading("point"), Heading("decision")),
    *numbers("passed"),
    Heading("of"),
    *numbers("need", "refused"),
    *numbers("95% interval", is_extra=True),
    Heading("language", is_extra=True),
    *numbers("templates", "needed", "cells", is_extra=True),
)
"""Extra columns are the basis of the decision."""


def sections(found: Outcome) -> Iterator[Section]:
    """Findings, then the number met and the location of the results."""
    yield Section(table=Table(HEADINGS, [_row(row) for row in found.findings]))
    yield Section(lines=[*_lines(found), *place_lines(found.places, "marts.pass_rates")])


def _row(row: dict[str, Any]) -> Row:
    notes = "; ".join(note for note in (_why_undecided(row), describe_judge(row)) if note)
    return Row((*_cells(row), *_grounds(row)), row["model"], Cell(notes, "faint"))


def _cells(row: dict[str, Any]) -> Iterator[Text]:
    decision = row["decision"]
    yield row["requirement"]
    yield mark(word_of(row["point_finding"]))
    yield Cell("–", TONES[decision]) if decision == "not evaluated" else mark(word_of(decision))
    yield share(row["rate"])
    yield row["measure"] or "–"
    yield f"{100 * row['tolerance']:g}%"
    yield share(row["refusal_rate"])


def _grounds(row: dict[str, Any]) -> Iterator[str]:
    """Cells of the extra columns."""
    needed, templates = row["templates_needed"], row["counted_templates"]
    yield _interval(row)
    yield "–" if row["worst_language"] is None else row["worst_language"]
    yield "–" if templates is None else f"{templates:,}"
    yield "–" if needed is None else "none" if needed > MOST_TEMPLATES else f"≥ {needed:,}"
    yield f"{row['cells_met']}/{row['cells']}"


def _interval(row: dict[str, Any]) -> str:
    return format_interval(row["interval_low"], row["interval_high"])


def _why_undecided(row: dict[str, Any]) -> str:
    """Why it is not evaluated; the language whose interval contains the tolerance, and how to decide it; languages
    that differ."""
    if row["decision"] not in ("undecided", "not evaluated"):
        return row["parity_because"] or ""
    interval = _interval(row)
    where = "" if interval == "–" else f"95% interval: {interval} in {row['worst_language']}"
    needed = describe_needed(row["templates_needed"])
    return "; ".join(filter(None, (where, row["not_evaluated_because"], row["parity_because"], needed)))


def _lines(found: Outcome) -> Iterator[Text]:
    yield f"{_count(found, 'point_finding')} of {len(found.findings)} requirement × model"
    yield f"decided by 95% intervals: {_count(found, 'decision')}"
    if found.decided:
        verdicts = "1 verdict is" if found.decided == 1 else f"{found.decided:,} verdicts are"
        others = f"{found.overridden:,} of them other than what stood before"
        yield f'{verdicts} a person\'s decision, {others}: biasgrid sql "from intermediate.int_decisions"'
    for judge in found.silent_judges:
        yield Cell(_silent(judge), "doubt")
    for judge in found.unqualified:
        yield Cell(explain_unqualified(judge), "doubt")
    if found.incomplete:
        yield from _incomplete_lines(found)


def _incomplete_lines(found: Outcome) -> list[Text]:
    short = sum(not row["is_complete"] for row in found.findings)
    if found.unqualified and not short and not found.failures:
        remedy = "name another one with `biasgrid evaluate --judge`, or set `judge_floor`"
        return [Cell(f"INCOMPLETE: the judge does not qualify; {remedy}", "doubt")]
    nothing = "a judge left questions unanswered" if found.unanswered else "nothing has been judged yet"
    lack = f"coverage below the floor for {short} of them" if short else nothing
    return incomplete_lines(None if found.is_imported else found.run_id, found.failures, lack)


def _silent(judge: dict[str, Any]) -> str:
    why = ", ".join(f"{judge[name]:,} {name}" for name in ("refused", "unreadable", "failed") if judge[name])
    lack = judge["asked"] - judge["n"]
    return f"the judge {judge['assessor']} gave no verdict on {lack:,} of {judge['asked']:,} replies: {why}"


def _count(found: Outcome, column: str) -> str:
    count = Counter(row[column] for row in found.findings)
    return ", ".join(f"{count[name]} {verdict.word}" for name, verdict in VERDICTS.items() if count[name])


async def publish(
    lake: Lake, found: Outcome, scenario: str, earlier: EarlierRuns | None = None, night: NightTables | None = None
) -> None:
    """Create the artifacts of a finished run."""
    from prefect.artifacts import acreate_markdown_artifact, acreate_table_artifact

    from biasgrid.flows.benchmark.trend_chart import trend_page

    before = earlier
    if before is None:
        before = await asyncio.to_thread(compare_with_earlier, lake, found.run_id)
    name, run, key = plain(scenario), f"run {found.run_id}", partial(artifact_key, about=scenario)
    await acreate_table_artifact([*map(_record, found.findings)], key("findings"), f"{name}: findings of {run}")
    if before.changes:
        page = changed_page(before, found.run_id)
        await acreate_markdown_artifact(page, key("regressions"), f"{name}: {run} against the one before")
    if before.trend:
        page = trend_page(before.trend, "The last nights")
        await acreate_markdown_artifact(page, key("trend"), f"{name}: pass rates up to {run}")
    page = await asyncio.to_thread(grid_page, lake, found.run_id)
    await acreate_markdown_artifact(page, key("grid"), f"{name}: pass rates of {run} by requirement and model")
    sentences = await asyncio.to_thread(lambda: answer(lake, found.run_id).sentences())
    page = summary(found, scenario, lake.named, before, night, sentences)
    await acreate_markdown_artifact(page, key("summary"), f"{name}: summary of {run}")


def _record(finding: dict[str, Any]) -> dict[str, Any]:
    return {
        **{name: cell(finding[name]) for name in ("model", "requirement", "concern")},
        "finding": word_of(finding["point_finding"]),
        "decision": word_of(finding["decision"]),
        "needs": describe_needed(finding["templates_needed"]),
        "not evaluated because": finding["not_evaluated_because"] or "",
        "languages": finding["parity_because"] or "",
        "passed": share(finding["rate"]),
        "of": finding["measure"],
        "95% interval": f"{share(finding['interval_low'])} to {share(finding['interval_high'])}",
        "judge": describe_judge(finding),
        "tolerance": share(finding["tolerance"]),
        "refused": share(finding["refusal_rate"]),
        "coverage": share(finding["coverage"]),
        "templates": finding["counted_templates"],
        "cells met": f"{finding['cells_met']}/{finding['cells']}",
    }
