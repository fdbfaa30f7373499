-- a run that was killed during planning has stored its cases twice
select
    run_id,
    cell_id,
    case_id,
    template_id as document_id,
    template as document,
    concern,
    provider,
    model,
    language,
    requirement as identity_group,
    input as signal,
    reflection as design,
    sample,
    facets
from lake.audit_cases
qualify row_number() over (partition by run_id, cell_id, case_id order by template_id) = 1
