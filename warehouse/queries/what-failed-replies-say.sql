-- What did the models say where they failed? Prompt, reply and reason, three of each model and concern, for reading.
select
    cases.model,
    cases.concern,
    cases.template,
    cases.communities_label as communities,
    cases.messages[-1].content as prompt,
    replies.text as reply,
    verdicts.reason,
    cases.case_id
from staging.stg_verdicts as verdicts
inner join staging.stg_cases as cases using (run_id, cell_id, case_id)
inner join staging.stg_responses as replies using (run_id, response_id)
where
    run_id = (
        select max(run_id) from staging.stg_verdicts where level = 'instance' and outcome in ('passed', 'failed')
    )
    and verdicts.level = 'instance'
    and verdicts.outcome = 'failed'
qualify row_number() over (partition by cases.model, cases.concern order by cases.case_id) <= 3
order by cases.model, cases.concern, cases.case_id;
