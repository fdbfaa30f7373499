"""Replies that show what is wrong: of each failing check the one with the largest effect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import polars as pl

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
    rows = query(lake, SQL[run.kind], [run.run_id], texts_of=run.run_id).to_dicts()
    asked = messages_of(lake, run.run_id, pl.Series([row.get("case_id") for row in rows], dtype=pl.String))
    last = {case_id: messages[-1]["content"] for case_id, messages in asked.items() if messages}
    return [
        Example(
            **_names(row),
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


def _names(row: Mapping[str, Any]) -> dict[str, str]:
    return {name: row[name] for name in ("model", "check", "template")}


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


JUDGED: Final = """
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
"""
"""Of a case, its reply and the verdict on it."""
BENCHMARK: Final = f"""
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
        ranked.requirement as "check",
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
    {JUDGED}
    where ranked.spread is not null or verdicts.outcome = 'failed'
    qualify
        row_number() over (
            partition by ranked.model, ranked.requirement
            order by cases.instance_id, cases.case_id
        ) = 1
    order by ranked.tells_apart desc, ranked.effect desc, ranked.model, ranked.requirement
"""  # noqa: S608 - words of ours
SIDES: Final = f"""
    select
        cases.communities_label as about,
        cases.messages[-1].content as prompt,
        replies.text,
        coalesce(verdicts.outcome, 'number') as outcome,
        coalesce(verdicts.reason, verdicts.parsed_value::varchar) as reason
    from staging.stg_cases as cases
    {JUDGED}
    where
        cases.run_id = ?
        and cases.cell_id = ?
        and cases.template_id = ?
        and cases.sample = ?::int
        and replies.response_id is not null
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
"""  # noqa: S608 - words of ours
RED_TEAM: Final = """
    select
        sessions.model,
        sessions.strategy as "check",
        sessions.pair as template,
        coalesce(turns.messages[-1].content, '') as question,
        turns.text,
        'turn ' || sessions.succeeded_at as about,
        sessions.reason
    from intermediate.int_attack_sessions as sessions
    left join staging.stg_responses as turns
        on
            sessions.run_id = turns.run_id
            and sessions.session_id = turns.session
            and sessions.succeeded_at = turns.turn
            and turns.speaker = 'target'
            and turns.is_answer
    where sessions.run_id = ? and sessions.outcome = 'succeeded'
    qualify row_number() over (partition by sessions.model, sessions.strategy order by sessions.session_id) = 1
    order by all
"""
PROBE: Final = """
    select
        findings.model,
        concat(findings.pair, ' · ', findings.test) as "check",
        findings.pair as template,
        readings.case_id,
        replies.text,
        coalesce(readings.part, '') as about,
        coalesce(readings.reason, readings.parsed_text) as reason
    from marts.probe_findings as findings
    inner join intermediate.int_probe_readings as readings using (run_id, model, language, pair, test)
    inner join intermediate.int_probe_trials as trials using (run_id, cell_id, block)
    inner join staging.stg_responses as replies using (run_id, response_id)
    where
        findings.run_id = ? and findings.state = 'not met'
        and trials.fell = if(findings.finding = 'biased against the stereotype', 'counter', 'stereotypical')
    qualify
        row_number() over (
            partition by findings.model, findings.language, findings.pair, findings.test
            order by trials.block, readings.case_id
        ) = 1
    order by abs(findings.score) desc, findings.model, "check"
"""
INTERACTION: Final = """
    select
        scores.model,
        concat_ws(
            ' · ', scores.axis, scores.setting, nullif(scores.mitigation, 'none'), nullif(scores.stage, 'only'),
            case when scores.held_out then 'held out' end
        ) as "check",
        assignments.play_id as template,
        assignments.scene as question,
        replies.text,
        assignments.speaker as about,
        coalesce(assignments.reason, assignments.outcome) as reason
    from marts.bias_scores as scores
    inner join intermediate.int_assignments as assignments
        using (run_id, model, language, axis, setting, mitigation, stage, held_out, is_control)
    inner join staging.stg_responses as replies using (run_id, response_id)
    where
        scores.run_id = ? and scores.state = 'not met' and scores.domain = 'all' and not scores.is_control
        and starts_with(assignments.outcome, 'anti') = (scores.bias_score < scores.expected_score)
        and ends_with(assignments.outcome, 'stereotypical')
    qualify
        row_number() over (
            partition by
                scores.model, scores.language, scores.axis, scores.setting, scores.mitigation, scores.stage,
                scores.held_out
            order by assignments.play_id, assignments.reply
        ) = 1
    order by abs(scores.bias_score - scores.expected_score) desc, scores.model, "check"
"""
AUDIT: Final = """
    select
        flips.model,
        concat_ws(' · ', flips.identity_group, flips.signal, nullif(flips.design, 'solo')) as "check",
        flips.case_id as template,
        flips.document as question,
        replies.text,
        flips.identity as about,
        concat(
            'of ', flips.reference_identity, ': ',
            coalesce('“' || others.text || '”', round(flips.reference_points, 1) || ' points')
        ) as reason
    from marts.decision_flips as flips
    inner join marts.score_shifts as shifts using (run_id, comparison_id)
    left join marts.impact_ratios as ratios using (run_id, comparison_id)
    left join staging.stg_responses as replies
        on flips.run_id = replies.run_id and flips.response_id = replies.response_id
    left join staging.stg_responses as others
        on flips.run_id = others.run_id and flips.reference_response_id = others.response_id
    where
        flips.run_id = ? and shifts.measure = 'decision'
        -- a ratio can be too low where the difference keeps to its margin
        and (shifts.state = 'not met' or (ratios.state = 'not met' and ratios.least_ratio is not null))
        and sign(flips.difference) = sign(shifts.difference)
    qualify
        row_number() over (
            partition by flips.comparison_id
            order by abs(flips.difference) desc, flips.document, flips.pair
        ) = 1
    order by abs(shifts.difference) desc, flips.model, "check"
"""
SQL: Final[Mapping[str, str]] = {
    "benchmark": BENCHMARK,
    "probe": PROBE,
    "redteam": RED_TEAM,
    "interaction": INTERACTION,
    "audit": AUDIT,
}
"""By kind of run."""
