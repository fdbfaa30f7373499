with cases as (
    select * from staging.stg_cases where run_id = 'later'
),

templates as (
    select
        cell_id,
        template_id,
        any_value(requirement) as requirement,
        any_value(model) as model,
        any_value(language) as language,
        any_value(template) as template
    from cases
    group by cell_id, template_id
)

select
    templates.*,
    sample,
    coalesce(earlier.outcome, 'not judged') as earlier_outcome,
    coalesce(later.outcome, 'not judged') as later_outcome
from (from intermediate.int_template_tests where run_id = 'earlier') as earlier
inner join (from intermediate.int_template_tests where run_id = 'later') as later using (cell_id, template_id, sample)
inner join templates using (cell_id, template_id)
where earlier.outcome is distinct from later.outcome
