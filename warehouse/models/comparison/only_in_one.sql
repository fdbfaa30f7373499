with asked as (
    select
        requirement,
        model,
        language,
        template,
        template_id,
        communities_label,
        bool_or(run_id = 'earlier') as is_earlier,
        bool_or(run_id = 'later') as is_later
    from staging.stg_cases
    group by requirement, model, language, template, template_id, communities_label
),

requirements as (
    select requirement, bool_or(is_earlier) as is_earlier, bool_or(is_later) as is_later
    from asked
    group by requirement
),

models as (
    select model, bool_or(is_earlier) as is_earlier, bool_or(is_later) as is_later
    from asked
    group by model
),

-- an item that is missing as a whole is listed once, without its parts
requirements_of_models as (
    select requirement, model, bool_or(is_earlier) as is_earlier, bool_or(is_later) as is_later
    from asked
    semi join (from requirements where is_earlier and is_later) using (requirement)
    semi join (from models where is_earlier and is_later) using (model)
    group by requirement, model
),

languages as (
    select requirement, language, bool_or(is_earlier) as is_earlier, bool_or(is_later) as is_later
    from asked
    semi join (from requirements_of_models where is_earlier and is_later) using (requirement, model)
    group by requirement, language
),

of_both as (
    select *
    from asked
    semi join (from requirements_of_models where is_earlier and is_later) using (requirement, model)
    semi join (from languages where is_earlier and is_later) using (requirement, language)
),

templates as (
    select
        requirement,
        language,
        template,
        bool_or(is_earlier) as is_earlier,
        bool_or(is_later) as is_later,
        bool_or(is_earlier and is_later) as is_the_same
    from of_both
    group by requirement, language, template
),

-- templates with the same text, and so with the same slots
communities as (
    select requirement, language, communities_label, bool_or(is_earlier) as is_earlier, bool_or(is_later) as is_later
    from of_both
    semi join (from templates where is_earlier and is_later) using (requirement, language, template)
    where communities_label <> ''
    group by requirement, language, communities_label
),

parts as (
    select 'requirement' as kind, requirement as name, null as requirement, null as language, is_earlier, is_later
    from requirements
    union all by name
    select 'model' as kind, model as name, is_earlier, is_later from models
    union all by name
    select 'model of a requirement' as kind, model as name, requirement, is_earlier, is_later
    from requirements_of_models
    union all by name
    select 'language' as kind, language as name, requirement, is_earlier, is_later from languages
    union all by name
    select 'template' as kind, template as name, requirement, language, is_earlier, is_later from templates
    union all by name
    select 'communities' as kind, communities_label as name, requirement, language, is_earlier, is_later
    from communities
)

select
    kind,
    requirement,
    language,
    name,
    if(is_earlier, 'only earlier', 'only later') as presence
from parts
where is_earlier <> is_later
union all by name
select
    'template' as kind,
    requirement,
    language,
    template as name,
    'changed' as presence
from templates
where is_earlier and is_later and not is_the_same
