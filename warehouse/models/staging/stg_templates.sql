with cases as (
    select * from staging.stg_cases
),

final as (
    select
        template_key,
        any_value(run_id) as run_id,
        any_value(cell_id) as cell_id,
        any_value(template_id) as template_id,
        any_value(requirement) as requirement,
        any_value(concern) as concern,
        any_value(provider) as provider,
        any_value(model) as model,
        any_value(language) as language,
        any_value(input) as input,
        any_value(reflection) as reflection,
        min(template) as template,
        min(oracle_type) as oracle_type,
        min(scale_low) as scale_low,
        max(scale_high) as scale_high,
        count(*) as cases
    from cases
    group by template_key
)

select * from final
