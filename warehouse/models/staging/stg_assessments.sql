select *
from lake.assessments
semi join staging.stg_criteria using (run_id, evaluation_id)
qualify row_number() over (
    partition by run_id, cell_id, case_id, purpose, assessor_kind, assessor
    order by assessed_at desc, assessment_id desc
) = 1
