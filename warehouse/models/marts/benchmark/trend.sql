select
    findings.*,
    row_number() over nights as nth,
    findings.rate - lag(findings.rate) over nights as rate_change,
    comparable.differs is not null or comparable.has_other_templates as breaks_line,
    comparable.differs,
    regressions.earlier_run_id,
    regressions.difference,
    regressions.q_value,
    coalesce(regressions.finding, 'not compared') as change
from marts.requirement_findings as findings
left join marts.regressions using (run_id, requirement, model)
left join intermediate.int_comparable_findings as comparable using (run_id, requirement, model)
window nights as (
    partition by findings.requirement, findings.model
    order by findings.started_at, findings.run_id
)
