with cases as (
    select * from lake.probe_cases
),

-- a run that was killed during planning has stored its cases twice
final as (
    select
        *,
        requirement as pair,
        template as form,
        {'test': input} as factors
    from cases
    qualify row_number() over (partition by run_id, cell_id, case_id order by template_id) = 1
)

from final
