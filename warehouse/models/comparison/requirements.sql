with tests as (
    select * from comparison.tests where language is null
),

sides as (
    select
        requirement,
        model,
        max(concern) as concern,
        arg_max(findings, run_id) filter (where run_id = 'earlier') as earlier,
        arg_max(findings, run_id) filter (where run_id = 'later') as later
    from marts.requirement_findings as findings
    group by requirement, model
)

select
    tests.* exclude (requirement, model, change),
    sides.requirement,
    sides.model,
    sides.concern,
    statistics.presence(sides.earlier, sides.later) as presence,
    sides.earlier.tolerance as earlier_tolerance,
    sides.later.tolerance as later_tolerance,
    sides.earlier.is_complete as earlier_is_complete,
    sides.later.is_complete as later_is_complete,
    sides.earlier.rate as earlier_whole_rate,
    sides.later.rate as later_whole_rate,
    sides.earlier.refusal_rate as earlier_refusal_rate,
    sides.later.refusal_rate as later_refusal_rate,
    sides.earlier.point_finding as earlier_point_finding,
    sides.later.point_finding as later_point_finding,
    sides.earlier.decision as earlier_decision,
    sides.later.decision as later_decision,
    coalesce(prompts.prompts_in_both, 0) as prompts_in_both,
    coalesce(prompts.prompts_only_earlier, 0) as prompts_only_earlier,
    coalesce(prompts.prompts_only_later, 0) as prompts_only_later,
    coalesce(tests.change, 'not compared') as change,
    case
        when presence <> 'both' then 'asked in one run alone'
        when not earlier_is_complete and not later_is_complete then 'incomplete in both'
        when not earlier_is_complete then 'incomplete in the earlier run'
        when not later_is_complete then 'incomplete in the later run'
        when prompts_in_both = 0 then 'no prompt is in both'
        when comparable.differs is not null then concat('not comparable: ', comparable.differs)
        when tests.templates is null then 'no template was judged in both with the same prompts'
        when tests.p_value is null then 'too few templates'
    end as why_not_compared
from sides
left join tests using (requirement, model)
left join comparison.prompts using (requirement, model)
left join (from intermediate.int_comparable_findings where run_id = 'later') as comparable
    using (requirement, model)
