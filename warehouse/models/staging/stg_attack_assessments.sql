select
    *,
    case_id as session_id,
    sample as turn,
    assessor as reviewer
from lake.redteam_assessments
where purpose = 'blind' and assessor_kind = 'person'
qualify row_number() over (
    partition by run_id, cell_id, case_id, sample, assessor
    order by assessed_at desc, assessment_id desc
) = 1
