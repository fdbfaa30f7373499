select
    *,
    len(request_keys) as requests,
    min(recorded_at) over (partition by run_id, job_id) as submitted_at
from lake.jobs
qualify row_number() over (partition by run_id, job_id order by event_id desc) = 1
