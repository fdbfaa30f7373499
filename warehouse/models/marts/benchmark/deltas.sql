with same_value_tests as (
    select * from intermediate.int_same_value_tests
),

same_value_templates as (
    select * from intermediate.int_same_value_templates
),

templates as (
    select * from intermediate.int_templates
),

final as (
    select
        tests.run_id,
        tests.evaluation_id,
        tests.cell_id,
        tests.template_id,
        templates.requirement,
        templates.concern,
        templates.provider,
        templates.model,
        templates.language,
        templates.input,
        templates.reflection,
        templates.template,
        tests.sample,
        tests.instances,
        tests.numbers,
        tests.refused,
        tests.unreadable,
        tests.errors,
        tests.min_value,
        tests.max_value,
        tests.spread,
        tests.scale_width,
        tests.delta,
        tests.admissible_spread,
        tests.communities_at_min,
        tests.communities_at_max,
        tests.outcome,
        over_samples.samples,
        over_samples.mean_spread,
        over_samples.chance_spread,
        over_samples.mean_spread > over_samples.chance_spread as exceeds_chance,
        over_samples.outcome as template_outcome
    from same_value_tests as tests
    inner join templates using (run_id, cell_id, template_id)
    inner join same_value_templates as over_samples using (run_id, cell_id, template_id)
)

select * from final
