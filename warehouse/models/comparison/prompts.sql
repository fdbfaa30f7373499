with prompts as (
    select
        requirement,
        model,
        language,
        template_id,
        instance_id,
        bool_or(run_id = 'earlier') as is_earlier,
        bool_or(run_id = 'later') as is_later
    from staging.stg_cases
    group by requirement, model, language, template_id, instance_id
)

select
    requirement,
    model,
    count(*) filter (where is_earlier and is_later) as prompts_in_both,
    count(*) filter (where not is_later) as prompts_only_earlier,
    count(*) filter (where not is_earlier) as prompts_only_later
from prompts
group by requirement, model
