-- a run that was killed during planning has stored its cases twice
select
    *,
    requirement as pair,
    template as form,
    {'test': input} as factors
from lake.probe_cases
qualify row_number() over (partition by run_id, cell_id, case_id order by template_id) = 1
