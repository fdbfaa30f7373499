with landed as (
    select * from lake.audit_verdicts
),

verdicts as (
    from statistics.newest_verdicts('landed', (run_id, cell_id, case_id))
),

-- a document alone, or each of a shortlist; earlier lakes have documents alone
members as (
    select
        run_id,
        cell_id,
        case_id,
        unnest(from_json(
            coalesce(
                facets::json -> 'members',
                json_array(json_object(
                    'place', 1, 'document_id', document_id, 'document', document, 'identity_group', identity_group,
                    'pair', facets::json ->> 'pair', 'identity', facets::json ->> 'identity'
                ))
            ),
            '[{
                "place": "BIGINT", "document_id": "VARCHAR", "document": "VARCHAR", "identity_group": "VARCHAR",
                "pair": "VARCHAR", "identity": "VARCHAR"
            }]'
        )) as member
    from staging.stg_audit_cases
)

select
    cases.* exclude (facets, document_id, document, identity_group),
    member.document_id,
    member.document,
    member.identity_group,
    member.place,
    if(cases.facets ->> 'decision' = 'choice', cases.identity_group, '') as listed,
    cases.facets ->> 'axis' as axis,
    cases.facets ->> 'reference' as reference,
    cases.facets ->> 'decision' as decision,
    member.pair,
    member.identity,
    verdicts.response_id,
    verdicts.evaluation_id,
    coalesce(verdicts.outcome, if(verdicts.verdict_id is null, 'error', null)) as outcome,
    -- selections count 100 points, so that a difference of rates is in points as one of scores is
    case cases.facets ->> 'decision'
        when 'yes_no' then 100 * verdicts.parsed_value::double
        when 'choice' then 100 * (verdicts.parsed_value = member.place)::int::double
        else verdicts.parsed_value::double
    end as points,
    verdicts.reason,
    verdicts.judged_at
from staging.stg_audit_cases as cases
inner join members using (run_id, cell_id, case_id)
left join verdicts using (run_id, cell_id, case_id)
