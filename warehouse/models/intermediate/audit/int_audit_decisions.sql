with landed as (
    select * from lake.audit_verdicts
),

verdicts as (
    from statistics.newest_verdicts('landed', hash(run_id, cell_id, case_id))
),

-- a run that was killed during planning has stored its cases twice
cases as (
    select
        run_id,
        cell_id,
        case_id,
        template_id as document_id,
        template as document,
        concern,
        provider,
        model,
        language,
        requirement as identity_group,
        input as signal,
        reflection as design,
        sample,
        from_json(facets::json, '{
            "axis": "VARCHAR", "reference": "VARCHAR", "decision": "VARCHAR", "pair": "VARCHAR", "identity": "VARCHAR",
            "members": [{
                "place": "BIGINT", "document_id": "VARCHAR", "document": "VARCHAR", "identity_group": "VARCHAR",
                "pair": "VARCHAR", "identity": "VARCHAR"
            }]
        }') as own
    from lake.audit_cases
    qualify row_number() over (partition by hash(run_id, cell_id, case_id) order by template_id) = 1
),

-- a document alone, or each of a shortlist; earlier lakes have documents alone
members as (
    select
        *,
        unnest(coalesce(own.members, [{
            'place': 1, 'document_id': document_id, 'document': document, 'identity_group': identity_group,
            'pair': own.pair, 'identity': own.identity
        }])) as member
    from cases
)

select
    members.* exclude (document_id, document, identity_group, own, member),
    member.document_id,
    member.document,
    member.identity_group,
    member.place,
    if(own.decision = 'choice', members.identity_group, '') as listed,
    own.axis,
    own.reference,
    own.decision,
    member.pair,
    member.identity,
    verdicts.response_id,
    verdicts.evaluation_id,
    coalesce(verdicts.outcome, if(verdicts.verdict_id is null, 'error', null)) as outcome,
    -- selections count 100 points, so that a difference of rates is in points as one of scores is
    case own.decision
        when 'yes_no' then 100 * verdicts.parsed_value::double
        when 'choice' then 100 * (verdicts.parsed_value = member.place)::int::double
        else verdicts.parsed_value::double
    end as points,
    verdicts.reason,
    verdicts.judged_at
from members
left join verdicts using (run_id, cell_id, case_id)
