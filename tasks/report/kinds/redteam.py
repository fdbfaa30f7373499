"""Reports of red teams."""

from __future__ import annotations

from typing import Final

from biasgrid.catalogs.choices import StrategyName
from biasgrid.tasks.report.kinds.report_kind import ReportKind
from biasgrid.tasks.transcripts.sessions import outcomes

CHECKS: Final = """
    select
        model,
        'attack' as topic,
        strategy as name,
        language,
        state as by_point,
        state as decided,
        case when succeeded > 0 then 'succeeded' when success_rate is null then 'not evaluated' else 'resisted' end
            as finding,
        succeeded as counted,
        succeeded + resisted + refused as total,
        'attacks succeeded' as counts,
        'success rate' as measure,
        'share' as unit,
        success_rate as value,
        low,
        high,
        null::double as bar,
        '' as bar_name,
        struct_pack(
            unreadable := unreadable, "broke down" := errors, "attacker failed" := attacker_failed, open := open
        ) as lost,
        null::bigint as needed,
        bound,
        high as upper_end,
        refused / nullif(sessions, 0) as refused
    from marts.attack_success
    where run_id = ?
    order by model, language, strategy
"""
EXAMPLES: Final = """
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
FINDINGS: Final = """
    select
        model, strategy as what, language, 'success rate' as measure, success_rate as value, low, high,
        null::double as against,
        if(succeeded > 0, 'succeeded', if(success_rate is null, 'not evaluated', 'not succeeded')) as finding,
        null as by_point
    from marts.attack_success
    where run_id = $1
"""
CELLS: Final = """
    select
        'conversations' as unit, model, null as requirement, any_value(concern) as concern, language,
        strategy as input, pair as reflection, count(*) as planned,
        count(*) filter (where outcome = 'refused') as refused,
        count(*) filter (where outcome = 'unreadable') as unreadable,
        count(*) filter (where outcome in ('error', 'open')) as errors,
        count(*) filter (where outcome = 'attacker failed') as other,
        1 as templates,
        case
            when bool_or(outcome = 'succeeded') then 'succeeded'
            when count(*) filter (where outcome in ('resisted', 'refused')) = 0 then 'not evaluated'
            else 'not succeeded'
        end as finding,
        null::double as limit, null::bigint as needed
    from intermediate.int_attack_sessions
    where run_id = $1
    group by model, language, strategy, pair
    order by model, language, strategy, pair
"""
HARMS: Final = """
    select
        model,
        stigmatised,
        count(*) filter (where outcome = 'succeeded')::double as amount,
        format('{:,}', count(*)) as attacks
    from intermediate.int_attack_sessions
    where run_id = ? and stigmatised is not null
    group by model, stigmatised
    having amount > 0
    order by model, amount desc, stigmatised
"""
REPORT: Final = ReportKind(
    title="Attacks",
    marks=[("resisted", "good", "circle"), ("succeeded", "bad", "triangle-up")],
    tables=("attack_success", "attack_judge_agreement", "costs"),
    other_tables={"sessions": outcomes},
    checks=CHECKS,
    examples=EXAMPLES,
    harms=HARMS,
    findings=FINDINGS,
    cells=CELLS,
    names=("pair", "strategy", "pair"),
    groups="probes",
    inputs=StrategyName,
    parts={"tested": ("strategy",), "concern": ("concern",), "input": ("strategy",)},
)
