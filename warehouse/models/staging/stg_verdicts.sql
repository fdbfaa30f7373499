with verdicts as (
    select * from lake.verdicts
),

evaluations as (
    select distinct
        run_id,
        evaluation_id
    from staging.stg_criteria
),

of_newest_evaluation as (
    select verdicts.*
    from verdicts
    semi join evaluations using (run_id, evaluation_id)
),

superseded as (
    select distinct
        run_id,
        supersedes as verdict_id
    from of_newest_evaluation
    where supersedes is not null
),

standing as (
    select of_newest_evaluation.*
    from of_newest_evaluation
    anti join superseded using (run_id, verdict_id)
),

-- a cell that is evaluated again after a crash lands its verdicts again
final as (
    select
        run_id,
        evaluation_id,
        verdict_id,
        cell_id,
        template_id,
        case_id,
        response_id,
        level,
        sample,
        assessor_kind,
        assessor,
        outcome,
        parsed_text,
        parsed_value,
        reason,
        reviewer,
        supersedes,
        judged_at
    from standing
    qualify row_number() over (
        partition by run_id, level, cell_id, template_id, sample, case_id
        order by judged_at desc nulls last, verdict_id desc
    ) = 1
)

select * from final
