with cases as (
    select * from lake.interaction_cases
),

-- a run that was killed during planning has stored its cases twice
final as (
    select
        *,
        template as scene,
        oracle_type as question,
        operation as protocol,
        sample as number,
        {'setting': input, 'mitigation': reflection} as factors
    from cases
    qualify row_number() over (partition by run_id, cell_id, case_id order by template_id) = 1
)

from final
