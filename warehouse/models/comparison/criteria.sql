with rules as (
    select
        run_id,
        requirement,
        unnest([
            {'criterion': 'concern', 'demand': concern},
            {'criterion': 'rationale', 'demand': rationale},
            {'criterion': 'tolerance', 'demand': tolerance::varchar},
            {'criterion': 'delta', 'demand': delta::varchar},
            {'criterion': 'parity', 'demand': coalesce(parity::varchar, 'any')},
            {'criterion': 'refusals', 'demand': refusals_rule},
            {'criterion': 'max_refusals', 'demand': max_refusals::varchar},
            {'criterion': 'coverage', 'demand': coverage_floor::varchar},
            {'criterion': 'judge', 'demand': coalesce(judge, 'none')}
        ]) as rule
    from staging.stg_criteria
),

sides as (
    select
        requirement,
        rule.criterion as criterion,
        max(rule.demand) filter (where run_id = 'earlier') as earlier,
        max(rule.demand) filter (where run_id = 'later') as later
    from rules
    group by requirement, rule.criterion
    having count(distinct run_id) = 2
)

select *
from sides
where earlier is distinct from later
