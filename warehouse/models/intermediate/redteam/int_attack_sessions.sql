with landed as (
    select * from lake.redteam_verdicts where level = 'session'
),

verdicts as (
    from statistics.newest_verdicts('landed', (run_id, cell_id, case_id))
),

-- a repeated request has several rows: it counts as one turn, but all its rows are paid
spoken as (
    select
        run_id,
        session as case_id,
        count(distinct turn) filter (where speaker = 'target') as turns,
        sum(cost_usd::decimal(38, 12))::double as cost_usd
    from staging.stg_responses
    where session is not null
    group by run_id, session
)

select
    cases.*,
    cases.case_id as session_id,
    cases.facets ->> 'axis' as axis,
    cases.factors.strategy as strategy,
    cases.facets ->> 'favoured' as favoured,
    cases.facets ->> 'stigmatised' as stigmatised,
    verdicts.evaluation_id,
    coalesce(verdicts.parsed_text, 'open') as outcome,
    verdicts.parsed_value::bigint as succeeded_at,
    coalesce(spoken.turns, 0) as turns,
    spoken.cost_usd,
    verdicts.response_id,
    verdicts.assessor as judge,
    verdicts.reason,
    verdicts.judged_at
from staging.stg_redteam_cases as cases
left join verdicts using (run_id, cell_id, case_id)
left join spoken using (run_id, case_id)
