with tests as (
    select * from comparison.tests where language is null
),

sides as (
    from statistics.sides('marts.requirement_findings', {'requirement': requirement, 'model': model})
)

select
    tests.* exclude (requirement, model, change),
    sides.* exclude (earlier_rate, later_rate),
    greatest(earlier_concern, later_concern) as concern,
    sides.earlier_rate as earlier_whole_rate,
    sides.later_rate as later_whole_rate,
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
