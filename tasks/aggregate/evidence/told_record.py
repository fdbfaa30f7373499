"""The coverage record as people read it: a page to print and sign, and the same in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tasks.aggregate.evidence.coverage import LIMITS, NO_AUDIT, POINTS, Coverage
from tasks.aggregate.evidence.dimensions import Dimension
from tasks.aggregate.evidence.selection import TOO_FEW
from tasks.aggregate.files import write_text
from tasks.aggregate.page import HIDDEN, share, signed, write_page

SIGNS = re.compile(r"([\\`*_{}\[\]<>|#~&@!:])")
SIGNED_BY = ("Made by", "Looked through by", "Approved by")
SIGNATURE = ("", "name", "function", "date", "signature")
FINDINGS = ("model", "what", "language", "measure", "value", "95% interval", "against", "finding")
EXAMINED = ("what", "examined", "not examined, of what the catalog has")
MODELS = ("model", "of", "planned", "refused", "unreadable", "errors", "of no class")
SELECTION = (
    "rate of",
    "model",
    "language",
    "what",
    "category",
    "counted",
    "chosen or above",
    "rate",
    "impact ratio",
)
CELLS = (
    "model",
    "what",
    "language",
    "input",
    "reflection",
    "templates",
    "planned",
    "refused",
    "unreadable",
    "errors",
)
CELL_HEAD = (*CELLS, "finding", "why")
UNBOUNDED = ("model", "requirement")
"""Of which no catalog has all."""
Row = Mapping[str, Any]


def moment(when: datetime | None) -> str:
    return "–" if when is None else f"{when.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def write_record_page(path: Path, record: Coverage, findings: Sequence[Row]) -> Path:
    """One page that needs nothing else, with room for signatures."""
    told = {"limits": LIMITS, "no_audit": NO_AUDIT, "points": POINTS, "signed_by": SIGNED_BY}
    tables = {
        "finding_rows": [_finding(row) for row in findings],
        "examined_rows": [_examined(one) for one in record.dimensions],
        "model_rows": [_model(row) for row in record.models],
        "selection_rows": [_selection(row) for row in record.selection],
        "cell_rows": [_cell(row) for row in record.cells],
    }
    heads = {
        "finding_head": FINDINGS,
        "examined_head": EXAMINED,
        "model_head": MODELS,
        "selection_head": SELECTION,
        "cell_head": CELL_HEAD,
    }
    given: dict[str, Any] = {"record": record, "run": record.run, "moment": moment} | told | tables | heads
    return write_page(path, "evidence.html.j2", **given)


def _finding(row: Row) -> tuple[str, ...]:
    number = signed if row["measure"] == "bias score" else share
    interval = "–" if row["low"] is None else f"{number(row['low'])} to {number(row['high'])}"
    told = (row["model"], row["what"], row["language"], row["measure"])
    return *_texts(told), number(row["value"]), interval, number(row["against"]), str(row["finding"])


def _examined(one: Dimension) -> tuple[str, str, str]:
    return one.name, ", ".join(one.examined) or "none", _not_examined(one)


def _not_examined(one: Dimension) -> str:
    if one.not_examined is None:
        return "–" if one.name in UNBOUNDED else "not known: the run did not record what there was"
    return ", ".join(one.not_examined) or "none"


def _model(row: Row) -> tuple[str, ...]:
    planned = row["planned"]
    parts = (f"{row[name]:,} ({share(row[name] / planned if planned else None)})" for name in LOST)
    return str(row["model"]), str(row["unit"]), f"{planned:,}", *parts


LOST = ("refused", "unreadable", "errors", "other")


def _selection(row: Row) -> tuple[str, ...]:
    told = (row["rate_of"], row["model"], row["language"], row["what"], row["category"])
    ratio = TOO_FEW if row["is_left_out"] else "–" if row["impact_ratio"] is None else f"{row['impact_ratio']:.2f}"
    return *_texts(told), f"{row['people']:,}", f"{row['chosen']:,}", share(row["rate"]), ratio


def _cell(row: Row) -> tuple[str, ...]:
    what = row["requirement"] or row["concern"]
    counts = (f"{row[name]:,}" for name in ("templates", "planned", "refused", "unreadable", "errors"))
    told = (row["model"], what, row["language"], row["input"], row["reflection"])
    return *_texts(told), *counts, str(row["finding"]), row["reason"] or ""


def _texts(values: Iterable[object]) -> Iterator[str]:
    return ("–" if value is None else str(value) for value in values)


def write_record_markdown(path: Path, record: Coverage, findings: Sequence[Row]) -> Path:
    return write_text(path, "\n\n".join(_markdown(record, findings)) + "\n")


def _markdown(record: Coverage, findings: Sequence[Row]) -> Iterator[str]:
    yield f"# Coverage record: {plain(record.run.name)}"
    yield _head(record)
    yield f"## Findings\n\n{table(FINDINGS, map(_finding, findings))}"
    yield f"## Examined and not examined\n\n{table(EXAMINED, map(_examined, record.dimensions))}"
    yield f"## What became of what was planned\n\n{table(MODELS, map(_model, record.models))}"
    lost = [(row["model"], row["purpose"], row["error_class"], f"{row['replies']:,}") for row in record.errors]
    yield f"### Replies that never came\n\n{table(('model', 'asked as', 'error', 'replies'), lost)}"
    yield f"## Cells\n\n{table(CELL_HEAD, map(_cell, record.cells))}"
    if record.selection:
        rates = table(SELECTION, map(_selection, record.selection))
        yield f"## Selection and scoring rates\n\n{NO_AUDIT}\n\n{rates}"
    gone = [(file.name, file.recorded, file.today or "not there any more") for file in record.lost_catalogs]
    yield f"## Catalog files that are missing\n\n{table(('file', 'SHA-256 recorded', 'SHA-256 today'), gone)}"
    yield "## Limits\n\n" + "\n".join(f"- {limit}" for limit in LIMITS)
    points = [(point.source, point.about, point.see) for point in POINTS]
    yield f"## What it can serve\n\n{table(('text', 'speaks of', 'see'), points)}"
    yield f"## Signatures\n\n{table(SIGNATURE, [(who, '', '', '', '') for who in SIGNED_BY])}"


def _head(record: Coverage) -> str:
    run = record.run
    lines = [
        f"- run `{run.run_id}`, {plain(run.kind)}, {plain(run.state)}",
        f"- started {moment(run.started_at)}, ended {moment(run.ended_at)}",
        f"- last verdict {moment(record.judged_at)}",
        f"- seed {'–' if run.seed is None else run.seed}",
    ]
    if not record.is_complete:
        lines.insert(0, "- **This run is not complete**: what follows is of what had landed")
    return "\n".join(lines)


def plain(text: object) -> str:
    """In one line, with every sign escaped that Markdown or HTML would read as more than itself."""
    shown = HIDDEN.sub(lambda found: f"U+{ord(found[0]):04X}", " ".join(str(text).split()))
    return SIGNS.sub(r"\\\1", shown)


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [[plain(one) for one in head], ["---"] * len(head), *([plain(one) for one in row] for row in rows)]
    if len(lines) == 2:
        return "None."
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
