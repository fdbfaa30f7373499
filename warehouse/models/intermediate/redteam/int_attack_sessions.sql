with cases as (
    select *
    from lake.redteam_cases
    qualify row_number() over (partition by run_id, cell_id, case_id order by template_id) = 1
),

-- a run that goes on lands its verdicts anew: of each session, the newest
verdicts as (
    select *
    from lake.redteam_verdicts
    where level = 'session'
    qualify row_number() over (
        partition by run_id, cell_id, case_id
        order by evaluation_id desc, judged_at desc nulls last, verdict_id desc
    ) = 1
),

-- what was asked again has a row for each time, and counts once as a turn, but is paid each time
spoken as (
    select
        run_id,
        session as case_id,
        count(distinct turn) filter (where speaker = 'target') as turns,
        sum(cost_usd::decimal(38, 12))::double as cost_usd
    from staging.stg_responses
    where session is not null
    group by run_id, session
),

final as (
    select
        cases.run_id,
        cases.cell_id,
        cases.case_id as session_id,
        verdicts.evaluation_id,
        cases.concern,
        cases.facets ->> 'axis' as axis,
        cases.requirement as pair,
        cases.provider,
        cases.model,
        cases.language,
        cases.input as strategy,
        cases.facets ->> 'favoured' as favoured,
        cases.facets ->> 'stigmatised' as stigmatised,
        cases.sample as number,
        coalesce(verdicts.parsed_text, 'open') as outcome,
        verdicts.parsed_value::bigint as succeeded_at,
        coalesce(spoken.turns, 0) as turns,
        spoken.cost_usd,
        verdicts.response_id,
        verdicts.assessor as judge,
        verdicts.reason,
        verdicts.judged_at
    from cases
    left join verdicts using (run_id, cell_id, case_id)
    left join spoken using (run_id, case_id)
)

select * from final
