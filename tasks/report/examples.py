"""Replies that show what is wrong: of each failing check the one with the largest effect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import polars as pl

from biasgrid.catalogs.text_safety import excerpt
from biasgrid.tasks.report.kinds.benchmark import SIDES
from biasgrid.tasks.report.kinds.report_kind import report_kind
from biasgrid.warehouse.build.build import query
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import Run

QUOTED: Final = 600
"""Characters of a text that is quoted."""


@dataclass(frozen=True, slots=True)
class Example:
    """One failing test: the question, and what is wrong with the replies."""

    model: str
    check: str
    template: str
    """Its id, which `biasgrid trace` takes."""
    question: str
    answers: Sequence[str]
    test: Sequence[Any] = ()
    """Of benchmarks: cell, template and sample, which `sides` takes."""


@dataclass(frozen=True, slots=True)
class Side:
    """One reply to the question."""

    about: str
    prompt: str
    text: str
    outcome: str
    reason: str


def spread_out(examples: Sequence[Example]) -> list[Example]:
    """One of each model before a second of any."""
    seen: Counter[str] = Counter()
    placed = []
    for one in examples:
        seen[one.model] += 1
        placed.append((seen[one.model], one))
    return [one for _, one in sorted(placed, key=lambda pair: pair[0])]


def sides(lake: Lake, run: Run, example: Example) -> list[Side]:
    """The two replies to one question that differ most: the lowest and the highest number, or one that fails and
    one that passes; a single one where none passes."""
    rows = query(lake, SIDES, [run.run_id, *example.test], texts_of=run.run_id).to_dicts()
    return [Side(**{name: _quote(row[name]) for name in Side.__slots__}) for row in rows]


def worst_examples(lake: Lake, run: Run) -> list[Example]:
    """One of each check and model that fails, the largest effects first. Raises UserError without a warehouse."""
    rows = query(lake, report_kind(run.kind).examples, [run.run_id], texts_of=run.run_id).to_dicts()
    asked = messages_of(lake, run.run_id, pl.Series([row.get("case_id") for row in rows], dtype=pl.String))
    last = {case_id: messages[-1]["content"] for case_id, messages in asked.items() if messages}
    return [
        Example(
            **{name: row[name] for name in ("model", "check", "template")},
            question=_quote(row.get("question") or last.get(row.get("case_id", ""))),
            answers=[*_answers(row)],
            test=row.get("test") or (),
        )
        for row in rows
    ]


def messages_of(lake: Lake, run_id: str, case_ids: pl.Series) -> dict[str, Any]:
    """By case."""
    if not case_ids.drop_nulls().len():
        return {}
    cases = lake.scan("cases", run_id).filter(pl.col("case_id").is_in(case_ids.implode()))
    return dict(cases.select("case_id", "messages").collect().iter_rows())


def _quote(text: str | None) -> str:
    return excerpt(" ".join((text or "").split()), QUOTED)


def _answers(row: Mapping[str, Any]) -> list[str]:
    if row.get("spread") is None:
        about = f"{row['about']}: " if row["about"] else ""
        quoted = [f"“{_quote(row['text'])}”"] if row["text"] is not None else []
        return [f"{about}{' – '.join([*quoted, *([_quote(row['reason'])] if row['reason'] else [])])}"]
    ends = [f"{row[f'at_{end}']}: {_number(row[f'{end}_value'])}" for end in ("min", "max")]
    return ["   ".join([*ends, f"{_number(row['spread'])} apart, {_number(row['allowed'])} allowed"])]


def _number(value: Decimal | float) -> str:
    return f"{float(value):,.6g}"
