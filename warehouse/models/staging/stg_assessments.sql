with assessments as (
    select * from lake.assessments
),

criteria as (
    select * from staging.stg_criteria
),

final as (
    select *
    from assessments
    semi join criteria using (run_id, evaluation_id)
    qualify row_number() over (
        partition by run_id, cell_id, case_id, purpose, assessor_kind, assessor
        order by assessed_at desc, assessment_id desc
    ) = 1
)

from final
