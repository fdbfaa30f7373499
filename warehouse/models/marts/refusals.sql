with cases as (
    select * from staging.stg_judged_cases
),

replies as (
    select
        run_id,
        provider,
        model,
        concern,
        communities,
        count(*) as replies,
        count(*) filter (where outcome = 'refused') as refused
    from cases
    where is_judged and outcome is distinct from 'error'
    group by run_id, provider, model, concern, communities
),

-- a reply about two communities counts for both; a prompt without any, for none by name
per_community as (
    select
        * exclude (communities),
        unnest(if(len(communities) > 0, list_distinct(communities), [''])) as community
    from replies
),

final as (
    select
        run_id,
        provider,
        model,
        concern,
        community,
        sum(replies)::bigint as replies,
        sum(refused)::bigint as refused,
        sum(refused) / sum(replies) as refusal_rate
    from per_community
    group by run_id, provider, model, concern, community
)

select * from final
