with landed as (
    select *
    from lake.redteam_verdicts
    where level = 'instance' and response_id is not null and outcome <> 'error'
),

verdicts as (
    from statistics.newest_verdicts('landed', (run_id, cell_id, case_id, sample))
)

select
    verdicts.* exclude (outcome),
    cases.provider,
    cases.model,
    cases.language,
    verdicts.case_id as session_id,
    verdicts.sample as turn,
    cases.factors.strategy as strategy,
    verdicts.assessor as judge,
    -- without parsed text the judge's reply was not the requested JSON
    if(verdicts.outcome = 'unreadable' and verdicts.parsed_text is null, 'unreadable', 'given') as state,
    if(state = 'given', verdicts.outcome, null) as outcome,
    verdicts.parsed_value as score
from verdicts
inner join staging.stg_redteam_cases as cases using (run_id, cell_id, case_id)
