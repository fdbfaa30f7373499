with findings as (
    select * from marts.requirement_findings
),

regressions as (
    select * from marts.regressions
),

final as (
    select
        findings.*,
        row_number() over nights as nth,
        findings.point_rate - lag(findings.point_rate) over nights as point_change,
        regressions.earlier_run_id,
        regressions.difference,
        regressions.q_value,
        coalesce(regressions.finding, 'not compared') as change
    from findings
    left join regressions using (run_id, requirement, model)
    window nights as (
        partition by findings.requirement, findings.model
        order by findings.started_at, findings.run_id
    )
)

from final
