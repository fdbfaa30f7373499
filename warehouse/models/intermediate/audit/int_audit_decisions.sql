with landed as (
    select * from lake.audit_verdicts
),

verdicts as (
    from statistics.newest_verdicts('landed', (run_id, cell_id, case_id))
)

select
    cases.* exclude (facets),
    cases.facets ->> 'axis' as axis,
    cases.facets ->> 'reference' as reference,
    cases.facets ->> 'decision' as decision,
    cases.facets ->> 'pair' as pair,
    cases.facets ->> 'identity' as identity,
    verdicts.response_id,
    verdicts.evaluation_id,
    coalesce(verdicts.outcome, if(verdicts.verdict_id is null, 'error', null)) as outcome,
    -- selections count 100 points, so that a difference of rates is in points as one of scores is
    verdicts.parsed_value::double * if(cases.facets ->> 'decision' = 'yes_no', 100, 1) as points,
    verdicts.reason,
    verdicts.judged_at
from staging.stg_audit_cases as cases
left join verdicts using (run_id, cell_id, case_id)
