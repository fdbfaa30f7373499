with outcomes as (
    select * from staging.stg_instance_outcomes
),

instances as (
    select * from staging.stg_instances
),

templates as (
    select * from staging.stg_templates
),

models as (
    select
        template_key,
        run_id,
        provider,
        model,
        concern,
        hash(run_id, model, concern) as asked
    from templates
),

replies as (
    select
        models.asked,
        outcomes.instance_key,
        sum(outcomes.judged - outcomes.errors) as replies,
        sum(outcomes.refused) as refused
    from outcomes
    inner join models using (template_key)
    where outcomes.judged > outcomes.errors
    group by all
),

-- a reply about two communities counts for both; a prompt without any, for none by name
per_community as (
    select
        replies.asked,
        replies.replies,
        replies.refused,
        unnest(if(len(instances.communities) > 0, list_distinct(instances.communities), [''])) as community
    from replies
    inner join instances using (instance_key)
),

counted as (
    select
        asked,
        community,
        sum(replies)::bigint as replies,
        sum(refused)::bigint as refused
    from per_community
    group by asked, community
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
),

final as (
    select
        named.run_id,
        named.provider,
        named.model,
        named.concern,
        counted.community,
        counted.replies,
        counted.refused,
        counted.refused / counted.replies as refusal_rate
    from counted
    inner join named using (asked)
)

select * from final
