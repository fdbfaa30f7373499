with assessments as (
    select * from staging.stg_assessments where purpose = 'blind'
),

-- the oracle's own verdicts, including those that a judge or a person has replaced
by_oracles as (
    select distinct on (run_id, evaluation_id, cell_id, case_id)
        run_id,
        evaluation_id,
        cell_id,
        case_id,
        outcome
    from lake.verdicts
    semi join assessments using (run_id, evaluation_id, cell_id, case_id)
    where level = 'instance' and supersedes is null and outcome is not null and outcome <> 'error'
    order by judged_at desc nulls last, verdict_id
)

select
    run_id,
    evaluation_id,
    cell_id,
    case_id,
    'oracle' as assessor_kind,
    'oracle' as assessor,
    'given' as state,
    outcome,
    null::bigint as seed,
    1.0::double as probability
from by_oracles
union all by name
select * replace (coalesce(probability, 1) as probability) from assessments
