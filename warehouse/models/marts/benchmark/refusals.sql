with models as (
    select
        template_key,
        run_id,
        provider,
        model,
        concern,
        hash(run_id, model, concern) as asked
    from intermediate.int_templates
),

-- a reply about two communities counts for both; a prompt without communities for none
about as (
    select
        instance_key,
        unnest(if(len(communities) > 0, list_distinct(communities), [''])) as community
    from intermediate.int_instances
),

counted as (
    select
        models.asked,
        about.community,
        sum(outcomes.judged - outcomes.errors)::bigint as replies,
        sum(outcomes.refused)::bigint as refused
    from intermediate.int_instance_outcomes as outcomes
    inner join models using (template_key)
    inner join about using (instance_key)
    where outcomes.judged > outcomes.errors
    group by models.asked, about.community
),

named as (
    select
        asked,
        any_value(run_id) as run_id,
        any_value(provider) as provider,
        any_value(model) as model,
        any_value(concern) as concern
    from models
    group by asked
)

select
    named.*,
    counted.* exclude (asked),
    counted.refused / counted.replies as refusal_rate
from counted
inner join named using (asked)
