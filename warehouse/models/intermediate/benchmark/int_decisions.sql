with verdicts as (
    select *
    from staging.stg_verdicts
    where level = 'instance' and assessor_kind = 'person'
),

assessments as (
    select * from staging.stg_assessments where purpose = 'decision'
),

superseded as (
    select
        run_id,
        supersedes as verdict_id
    from verdicts
),

replaced as (
    select distinct on (run_id, verdict_id) *
    from lake.verdicts
    semi join superseded using (run_id, verdict_id)
    order by judged_at desc nulls last
)

select
    verdicts.*,
    assessments.assessment_id,
    assessments.carried_from,
    replaced.assessor_kind as replaced_assessor_kind,
    replaced.assessor as replaced_assessor,
    replaced.outcome as replaced_outcome,
    verdicts.outcome is distinct from replaced.outcome as is_override,
    verdicts.judged_at as decided_at
from verdicts
left join replaced on verdicts.run_id = replaced.run_id and verdicts.supersedes = replaced.verdict_id
left join assessments
    on
        verdicts.run_id = assessments.run_id
        and verdicts.cell_id = assessments.cell_id
        and verdicts.case_id = assessments.case_id
        and verdicts.reviewer = assessments.assessor
