"""Reports of audits."""

from __future__ import annotations

from typing import Final

from biasgrid.catalogs.audit.identities import Signal
from biasgrid.tasks.report.kinds.report_kind import ReportKind

CHECKS: Final = """
    select
        model,
        measure as topic,
        concat_ws(' · ', identity_group, signal, nullif(design, 'solo'), nullif(measure, 'decision')) as name,
        language,
        state as by_point,
        state as decided,
        finding,
        if(measure = 'decision', less, (unread_share * pairs)::bigint) as counted,
        pairs as total,
        if(
            measure = 'decision', concat('pairs lower than ', reference), 'decisions refused or unreadable'
        ) as counts,
        concat('points from ', reference) as measure,
        'points' as unit,
        difference as value,
        low,
        high,
        null::double as bar,
        '' as bar_name,
        struct_pack(failed := errors, refused := planned - errors - pairs) as lost,
        null::bigint as needed,
        margin as bound,
        greatest(abs(low_90), abs(high_90)) as upper_end,
        documents as templates,
        not_evaluated_because as why
    from marts.score_shifts
    where run_id = $1 and is_decisive

    union all by name

    select
        model,
        'impact ratio' as topic,
        concat_ws(' · ', identity_group, signal, nullif(design, 'solo'), 'impact ratio') as name,
        language,
        state as by_point,
        state as decided,
        state as finding,
        round(selected)::bigint as counted,
        ratios.pairs as total,
        'pairs in which the group is selected' as counts,
        concat('of the selection rate of ', reference) as measure,
        'share' as unit,
        impact_ratio as value,
        low,
        high,
        least_ratio as bar,
        'least ratio' as bar_name,
        struct_pack(
            failed := shifts.errors, refused := shifts.planned - shifts.errors - shifts.pairs
        ) as lost,
        no_interval_because as why
    from marts.impact_ratios as ratios
    inner join (
        select run_id, comparison_id, planned, errors, pairs from marts.score_shifts where measure = 'decision'
    ) as shifts using (run_id, comparison_id)
    where ratios.run_id = $1 and least_ratio is not null
    order by model, language, topic, name
"""
EXAMPLES: Final = """
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
FINDINGS: Final = """
    select
        model, concat_ws(', ', identity_group, signal, design) as what, language,
        'difference in points' as measure, difference as value, low, high, margin as against, finding,
        null as by_point
    from marts.score_shifts
    where run_id = $1 and measure = 'decision'
    union all
    select
        model, concat_ws(', ', identity_group, signal, design), language, 'impact ratio', impact_ratio, low,
        high, least_ratio, if(least_ratio is null, 'counted', state), null
    from marts.impact_ratios
    where run_id = $1
"""
CELLS: Final = """
    select
        'decisions' as unit, model, identity_group as requirement, concern, language, signal as input,
        design as reflection, decisions as planned, refused, unreadable, rates.errors, 0 as other,
        rates.documents as templates, coalesce(finding, 'counted') as finding, null::double as limit,
        null::bigint as needed
    from marts.selection_rates as rates
    left join (
        select run_id, model, language, design, signal, identity_group, finding
        from marts.score_shifts
        where measure = 'decision'
    ) using (run_id, model, language, design, signal, identity_group)
    where run_id = $1
    order by all
"""
HARMS: Final = """
    select
        shifts.model,
        if(shifts.difference < 0, shifts.identity_group, shifts.reference) as harmed,
        round(max(abs(shifts.difference)), 1) as amount,
        if(shifts.difference < 0, shifts.reference, shifts.identity_group) as other
    from marts.score_shifts as shifts
    left join marts.impact_ratios as ratios using (run_id, comparison_id)
    where
        shifts.run_id = ? and shifts.measure = 'decision'
        and (shifts.state = 'not met' or (ratios.state = 'not met' and ratios.least_ratio is not null))
    group by shifts.model, harmed, other
    order by shifts.model, amount desc, harmed
"""
REPORT: Final = ReportKind(
    title="Decisions",
    marks=[
        ("no difference shown", "faint", "diamond"),
        ("too few documents or identities to show equality", "faint", "diamond"),
        ("no more than the margin apart", "good", "circle"),
        ("lower", "bad", "triangle-down"),
        ("higher", "doubt", "triangle-up"),
    ],
    is_higher_better=True,
    tables=(
        *("score_shifts", "impact_ratios", "selection_rates", "order_effects", "rank_after_scoring"),
        *("decision_flips", "costs"),
    ),
    checks=CHECKS,
    examples=EXAMPLES,
    harms=HARMS,
    findings=FINDINGS,
    cells=CELLS,
    names=("group", "signal", "design"),
    groups="identities",
    inputs=Signal,
    parts={"tested": ("", "signal", "design"), "concern": ("concern",), "input": ("signal",)},
    limits=("limit.audit",),
)
