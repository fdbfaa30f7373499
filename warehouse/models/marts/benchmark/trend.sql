select
    findings.*,
    row_number() over nights as nth,
    findings.point_rate - lag(findings.point_rate) over nights as point_change,
    regressions.earlier_run_id,
    regressions.difference,
    regressions.q_value,
    coalesce(regressions.finding, 'not compared') as change
from marts.requirement_findings as findings
left join marts.regressions using (run_id, requirement, model)
window nights as (
    partition by findings.requirement, findings.model
    order by findings.started_at, findings.run_id
)
