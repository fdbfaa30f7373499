with rules as (
    select
        run_id,
        requirement,
        unnest([
            {'criterion': 'concern', 'said': concern},
            {'criterion': 'rationale', 'said': rationale},
            {'criterion': 'tolerance', 'said': tolerance::varchar},
            {'criterion': 'delta', 'said': delta::varchar},
            {'criterion': 'refusals', 'said': refusals_rule},
            {'criterion': 'max_refusals', 'said': max_refusals::varchar},
            {'criterion': 'coverage', 'said': coverage_floor::varchar},
            {'criterion': 'judge', 'said': coalesce(judge, 'none')}
        ]) as rule
    from staging.stg_criteria
),

sides as (
    select
        requirement,
        rule.criterion as criterion,
        max(rule.said) filter (where run_id = 'earlier') as earlier,
        max(rule.said) filter (where run_id = 'later') as later
    from rules
    group by requirement, rule.criterion
    having count(distinct run_id) = 2
)

select *
from sides
where earlier is distinct from later
