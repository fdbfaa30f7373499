with assessments as (
    select * from lake.assessments
),

criteria as (
    select * from staging.stg_criteria
),

evaluations as (
    select distinct
        run_id,
        evaluation_id
    from criteria
),

final as (
    select
        run_id,
        evaluation_id,
        assessment_id,
        cell_id,
        template_id,
        case_id,
        response_id,
        rule_key,
        carried_from,
        purpose,
        assessor_kind,
        assessor,
        state,
        outcome,
        stratum,
        reason,
        sample,
        seed,
        probability,
        assessed_at
    from assessments
    semi join evaluations using (run_id, evaluation_id)
    qualify row_number() over (
        partition by run_id, cell_id, case_id, purpose, assessor_kind, assessor
        order by assessed_at desc, assessment_id desc
    ) = 1
)

select * from final
