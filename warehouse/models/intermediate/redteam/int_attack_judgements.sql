with cases as (
    select distinct on (run_id, cell_id, case_id)
        run_id,
        cell_id,
        case_id,
        provider,
        model,
        language,
        input as strategy
    from lake.redteam_cases
    order by template_id
),

-- a run that goes on lands its verdicts anew: of each reply, the newest
verdicts as (
    select *
    from lake.redteam_verdicts
    where level = 'instance' and response_id is not null and outcome <> 'error'
    qualify row_number() over (
        partition by run_id, cell_id, case_id, sample
        order by evaluation_id desc, judged_at desc nulls last, verdict_id desc
    ) = 1
),

final as (
    select
        verdicts.run_id,
        verdicts.cell_id,
        verdicts.case_id as session_id,
        verdicts.sample as turn,
        verdicts.verdict_id,
        verdicts.response_id,
        cases.provider,
        cases.model,
        cases.language,
        cases.strategy,
        verdicts.assessor as judge,
        -- without a word of its own the judge's reply was not the JSON asked for
        if(verdicts.outcome = 'unreadable' and verdicts.parsed_text is null, 'unreadable', 'given') as state,
        if(state = 'given', verdicts.outcome, null) as outcome,
        verdicts.parsed_value as score,
        verdicts.reason,
        verdicts.judged_at
    from verdicts
    inner join cases using (run_id, cell_id, case_id)
)

select * from final
