with assessments as (
    select * from lake.redteam_assessments
),

final as (
    select
        run_id,
        cell_id,
        case_id as session_id,
        sample as turn,
        assessor as reviewer,
        assessment_id,
        evaluation_id,
        response_id,
        rule_key,
        state,
        outcome,
        stratum,
        reason,
        seed,
        probability,
        assessed_at
    from assessments
    where purpose = 'blind' and assessor_kind = 'person'
    qualify row_number() over (
        partition by run_id, cell_id, case_id, sample, assessor
        order by assessed_at desc, assessment_id desc
    ) = 1
)

select * from final
