-- what the oracle made of a reply stands with the judge's opinion; a judge of earlier releases was asked about failures
select
    verdicts.run_id,
    verdicts.cell_id,
    count(*) as judge_decided,
    count(*) filter (where verdicts.outcome <> coalesce(assessments.stratum, 'failed')) as judge_overturned
from staging.stg_verdicts as verdicts
left join staging.stg_assessments as assessments
    on
        verdicts.run_id = assessments.run_id
        and verdicts.cell_id = assessments.cell_id
        and verdicts.case_id = assessments.case_id
        and verdicts.assessor = assessments.assessor
        and assessments.purpose = 'blind'
where verdicts.level = 'instance' and verdicts.assessor_kind = 'model'
group by verdicts.run_id, verdicts.cell_id
