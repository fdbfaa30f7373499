with changed as (
    select 'test' as unit, requirement, model, earlier_outcome, later_outcome from comparison.changed_tests
    union all
    select 'reply' as unit, requirement, model, earlier_outcome, later_outcome from comparison.changed_replies
)

select
    requirement,
    model,
    unit,
    earlier_outcome,
    later_outcome,
    count(*) as moved
from changed
group by requirement, model, unit, earlier_outcome, later_outcome
