with verdicts as (
    select * from staging.stg_verdicts where level = 'instance'
),

cases as (
    select * from staging.stg_cases where run_id = 'later'
)

select
    cases.* exclude (cell_id, case_id),
    cell_id,
    case_id,
    coalesce(later.response_id, earlier.response_id) as response_id,
    -- a number has no outcome of its own: SQL compares it with the others of its template
    coalesce(
        earlier.outcome, if(earlier.parsed_value is null, 'not judged', 'number')
    ) as earlier_outcome,
    coalesce(later.outcome, if(later.parsed_value is null, 'not judged', 'number')) as later_outcome,
    earlier.parsed_value as earlier_value,
    later.parsed_value as later_value,
    earlier.assessor_kind as earlier_assessor_kind,
    later.assessor_kind as later_assessor_kind,
    earlier.assessor as earlier_assessor,
    later.assessor as later_assessor,
    earlier.reason as earlier_reason,
    later.reason as later_reason
from cases
left join (from verdicts where run_id = 'earlier') as earlier using (cell_id, case_id)
left join (from verdicts where run_id = 'later') as later using (cell_id, case_id)
where
    earlier_outcome <> later_outcome
    or earlier_value is distinct from later_value
