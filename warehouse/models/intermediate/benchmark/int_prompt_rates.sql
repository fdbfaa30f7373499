-- prompts of a requirement as numbers in place of names, for millions of rows in several cells
with asked as (
    select
        templates.template_key,
        templates.run_id,
        templates.requirement,
        templates.model,
        templates.language,
        templates.template_id,
        hash(templates.run_id, templates.requirement, templates.model, templates.language, templates.template_id)
            as question,
        cells.refusals_rule
    from intermediate.int_templates as templates
    inner join intermediate.int_planned_cells as cells using (run_id, cell_id)
    where templates.oracle_type = 'expected value'
),

questions as (
    select distinct
        question,
        run_id,
        requirement,
        model,
        language,
        template_id
    from asked
),

rates as (
    select
        asked.question,
        outcomes.instance_key,
        sum(statistics.counted_passed(asked.refusals_rule, outcomes.passed, outcomes.refused)) as counted_passed,
        sum(statistics.counted(
            asked.refusals_rule, outcomes.passed, outcomes.failed, outcomes.refused, outcomes.unreadable
        )) as counted
    from intermediate.int_instance_outcomes as outcomes
    inner join asked using (template_key)
    where outcomes.judged > 0
    group by all
),

-- a same-value template compares communities within itself, so it counts as one prompt
same_value_rates as (
    select
        same_value_templates.run_id,
        cells.requirement,
        cells.model,
        cells.language,
        same_value_templates.template_id,
        coalesce((same_value_templates.outcome = 'passed')::bigint, 0) as passed,
        coalesce((same_value_templates.outcome = 'failed')::bigint, 0) as failed,
        coalesce((same_value_templates.outcome = 'refused')::bigint, 0) as refused,
        coalesce((same_value_templates.outcome = 'unreadable')::bigint, 0) as unreadable,
        cells.refusals_rule
    from intermediate.int_same_value_templates as same_value_templates
    inner join intermediate.int_planned_cells as cells using (run_id, cell_id)
)

select
    questions.* exclude (question),
    rates.* exclude (question)
from rates
inner join questions using (question)
union all by name
select
    run_id,
    requirement,
    model,
    language,
    template_id,
    hash(template_id) as instance_key,
    sum(statistics.counted_passed(refusals_rule, passed, refused)) as counted_passed,
    sum(statistics.counted(refusals_rule, passed, failed, refused, unreadable)) as counted
from same_value_rates
group by run_id, requirement, model, language, template_id
