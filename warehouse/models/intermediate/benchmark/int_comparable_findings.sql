-- what two runs must share for their rates to be compared
with conditions as (
    select
        findings.run_id,
        findings.requirement,
        findings.concern,
        findings.provider,
        findings.model,
        findings.started_at,
        criteria.least_drop,
        asked.template_set,
        map {
            'measure': criteria.measure,
            'refusals': criteria.refusals_rule,
            'delta': criteria.delta::varchar,
            'judge': coalesce(criteria.judge, 'none'),
            'samples': asked.samples::varchar,
            'parameters': coalesce(asked.parameters, 'none')
        } as conditions
    from marts.requirement_findings as findings
    inner join intermediate.int_asked_templates as asked using (run_id, requirement, model)
    inner join staging.stg_criteria as criteria using (run_id, requirement)
    where findings.is_complete
),

ordered as (
    select
        *,
        lag(run_id) over alike as earlier_run_id,
        lag(conditions) over nights as conditions_before,
        lag(template_set) over nights as template_set_before
    from conditions
    window
        nights as (partition by requirement, model order by started_at, run_id),
        alike as (partition by requirement, model, conditions order by started_at, run_id)
)

select
    *,
    if(
        conditions_before is null,
        null,
        nullif(
            array_to_string(
                list_transform(
                    list_filter(
                        map_keys(conditions),
                        lambda condition_: conditions[condition_] is distinct from conditions_before[condition_]
                    ),
                    lambda condition_: concat(
                        condition_, ' ', conditions_before[condition_], ' → ', conditions[condition_]
                    )
                ),
                ', '
            ),
            ''
        )
    ) as differs,
    template_set is distinct from template_set_before and template_set_before is not null as has_other_templates
from ordered
