with landed as (
    select * from lake.probe_verdicts
),

verdicts as (
    from statistics.newest_verdicts('landed', (run_id, cell_id, case_id))
)

select
    cases.*,
    verdicts.* exclude (run_id, cell_id, case_id, outcome, parsed_value),
    cases.factors.test as test,
    cases.facets ->> 'axis' as axis,
    cases.facets ->> 'signal' as signal,
    cases.facets ->> 'favoured' as favoured,
    cases.facets ->> 'stigmatised' as stigmatised,
    cases.facets ->> 'favoured_attribute' as favoured_attribute,
    cases.facets ->> 'stigmatised_attribute' as stigmatised_attribute,
    (cases.facets ->> 'block')::bigint as block,
    cases.facets ->> 'part' as part,
    (cases.facets -> 'groups')::varchar[] as groups,
    -- a rating for which low is good
    if((cases.facets ->> 'better') = 'lower', -1, 1) as direction,
    coalesce(verdicts.outcome, if(verdicts.verdict_id is null, 'error', null)) as outcome,
    verdicts.parsed_value::double as parsed_value
from staging.stg_probe_cases as cases
left join verdicts using (run_id, cell_id, case_id)
