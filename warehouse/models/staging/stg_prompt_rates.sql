with cases as (
    select * from staging.stg_cases
),

verdicts as (
    select * from staging.stg_verdicts where level = 'instance'
),

same_value_templates as (
    select * from staging.stg_same_value_templates
),

cells as (
    select * from staging.stg_planned_cells
),

answers as (
    select
        cases.run_id,
        cases.cell_id,
        cases.template_id,
        cases.instance_id,
        count(*) filter (where verdicts.outcome = 'passed') as passed,
        count(*) filter (where verdicts.outcome = 'failed') as failed,
        count(*) filter (where verdicts.outcome = 'refused') as refused,
        count(*) filter (where verdicts.outcome = 'unreadable') as unreadable
    from cases
    inner join verdicts using (run_id, cell_id, case_id)
    where cases.oracle_type = 'expected value'
    group by all
    -- communities are compared within a same-value template: it is one prompt
    union all by name
    select
        run_id,
        cell_id,
        template_id,
        template_id as instance_id,
        coalesce((outcome = 'passed')::bigint, 0) as passed,
        coalesce((outcome = 'failed')::bigint, 0) as failed,
        coalesce((outcome = 'refused')::bigint, 0) as refused,
        coalesce((outcome = 'unreadable')::bigint, 0) as unreadable
    from same_value_templates
),

final as (
    select
        answers.run_id,
        cells.requirement,
        cells.model,
        answers.template_id,
        answers.instance_id,
        sum(statistics.counted_passed(cells.refusals_rule, answers.passed, answers.refused)) as counted_passed,
        sum(statistics.counted(
            cells.refusals_rule, answers.passed, answers.failed, answers.refused, answers.unreadable
        )) as counted
    from answers
    inner join cells using (run_id, cell_id)
    group by all
)

select * from final
