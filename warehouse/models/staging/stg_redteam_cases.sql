-- a run that was killed during planning has stored its cases twice
select
    *,
    requirement as pair,
    sample as number,
    {'strategy': input} as factors
from lake.redteam_cases
qualify row_number() over (partition by run_id, cell_id, case_id order by template_id) = 1
