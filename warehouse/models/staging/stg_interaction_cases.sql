-- a run that was killed during planning has stored its cases twice
select
    *,
    template as scene,
    oracle_type as question,
    operation as protocol,
    sample as number,
    {'setting': input, 'mitigation': reflection} as factors
from lake.interaction_cases
qualify row_number() over (partition by run_id, cell_id, case_id order by template_id) = 1
