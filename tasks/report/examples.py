"""Replies that show what is wrong: of each failing check the one with the largest effect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from biasgrid.catalogs.text_safety import excerpt
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
    if run.kind not in SQL:
        return []
    rows = query(lake, SQL[run.kind], [run.run_id, run.run_id], texts_of=run.run_id).to_dicts()
    return [
        Example(**_names(row), question=_quote(row["question"]), answers=[*_answers(row)], test=row["test"])
        for row in rows
    ]


def _names(row: Mapping[str, Any]) -> dict[str, str]:
    return {name: row[name] for name in ("model", "check", "template")}


def _quote(text: str | None) -> str:
    return excerpt(" ".join((text or "").split()), QUOTED)


def _answers(row: Mapping[str, Any]) -> list[str]:
    if row["spread"] is None:
        about = f"{row['about']}: " if row["about"] else ""
        quoted = [f"“{_quote(row['text'])}”"] if row["text"] is not None else []
        return [f"{about}{' – '.join([*quoted, *([_quote(row['reason'])] if row['reason'] else [])])}"]
    ends = [f"{row[f'at_{end}']}: {_number(row[f'{end}_value'])}" for end in ("min", "max")]
    return ["   ".join([*ends, f"{_number(row['spread'])} apart, {_number(row['allowed'])} allowed"])]


def _number(value: Decimal | float) -> str:
    return f"{float(value):,.6g}"


BENCHMARK: Final = """
    with ranked as (
        select
            tests.run_id,
            tests.cell_id,
            tests.template_id,
            tests.sample,
            cells.model,
            cells.requirement,
            compared.spread,
            compared.min_value,
            compared.max_value,
            compared.admissible_spread,
            compared.communities_at_min,
            compared.communities_at_max,
            compared.spread is not null or tests.passed > 0 as tells_apart,
            coalesce(compared.spread / nullif(compared.scale_width, 0), tests.failed / tests.instances) as effect
        from intermediate.int_template_tests as tests
        inner join intermediate.int_planned_cells as cells using (run_id, cell_id)
        inner join marts.requirement_findings as findings using (run_id, requirement, model)
        left join intermediate.int_same_value_tests as compared using (run_id, cell_id, template_id, sample)
        where tests.run_id = ? and tests.outcome = 'failed' and findings.decision = 'not met'
        qualify
            row_number() over (
                partition by cells.model, cells.requirement
                order by tells_apart desc, effect desc, tests.template_id, tests.cell_id, tests.sample
            ) = 1
    )

    select
        ranked.model,
        ranked.requirement as check,
        cases.template,
        if(ranked.spread is null, cases.messages[-1].content, cases.template_text) as question,
        replies.text,
        cases.communities_label as about,
        verdicts.reason,
        ranked.spread,
        ranked.min_value,
        ranked.max_value,
        ranked.communities_at_min as at_min,
        ranked.communities_at_max as at_max,
        ranked.admissible_spread as allowed,
        [ranked.cell_id, ranked.template_id, ranked.sample::varchar] as test
    from ranked
    inner join staging.stg_cases as cases using (run_id, cell_id, template_id, sample)
    left join staging.stg_responses as replies
        on
            cases.run_id = replies.run_id
            and cases.cell_id = replies.cell_id
            and cases.case_id = replies.case_id
            and replies.is_answer
            and replies.purpose = 'subject'
    left join staging.stg_verdicts as verdicts
        on
            cases.run_id = verdicts.run_id
            and cases.cell_id = verdicts.cell_id
            and cases.case_id = verdicts.case_id
            and verdicts.level = 'instance'
    where cases.run_id = ? and (ranked.spread is not null or verdicts.outcome = 'failed')
    qualify
        row_number() over (
            partition by ranked.model, ranked.requirement
            order by cases.instance_id, cases.case_id
        ) = 1
    order by ranked.tells_apart desc, ranked.effect desc, ranked.model, ranked.requirement
"""
SIDES: Final = """
    select
        cases.communities_label as about,
        cases.messages[-1].content as prompt,
        replies.text,
        coalesce(verdicts.outcome, 'number') as outcome,
        coalesce(verdicts.reason, verdicts.parsed_value::varchar) as reason
    from staging.stg_cases as cases
    inner join staging.stg_responses as replies
        on
            cases.run_id = replies.run_id
            and cases.cell_id = replies.cell_id
            and cases.case_id = replies.case_id
            and replies.is_answer
            and replies.purpose = 'subject'
    inner join staging.stg_verdicts as verdicts
        on
            cases.run_id = verdicts.run_id
            and cases.cell_id = verdicts.cell_id
            and cases.case_id = verdicts.case_id
            and verdicts.level = 'instance'
    where
        cases.run_id = ?
        and cases.cell_id = ?
        and cases.template_id = ?
        and cases.sample = ?::int
        and (verdicts.outcome in ('failed', 'passed') or verdicts.parsed_value is not null)
    qualify
        -- of numbers the lowest and the highest, else the first of each outcome
        row_number() over (
            partition by verdicts.outcome order by verdicts.parsed_value, cases.instance_id, cases.case_id
        ) = 1
        or (verdicts.parsed_value is not null and row_number() over (
            partition by verdicts.outcome order by verdicts.parsed_value desc, cases.instance_id desc
        ) = 1)
    order by outcome, verdicts.parsed_value, cases.instance_id
    limit 2
"""
RED_TEAM: Final = """
    select
        model,
        strategy as check,
        pair as template,
        '' as question,
        null::varchar as text,
        concat('turn ', succeeded_at) as about,
        reason,
        null::double as spread,
        []::varchar[] as test
    from intermediate.int_attack_sessions
    where run_id = ? and outcome = 'succeeded' and run_id = ?
    qualify row_number() over (partition by model, strategy order by session_id) = 1
    order by model, strategy
"""
SQL: Final[Mapping[str, str]] = {"benchmark": BENCHMARK, "redteam": RED_TEAM}
"""By kind of run."""
