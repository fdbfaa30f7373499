with items as (
    select
        *,
        coalesce(facets ->> 'type', '') as type,
        facets ->> 'stereotype' as stereotype,
        outcome in ('passed', 'failed') and role in ('biased', 'counter') as is_read
    from intermediate.int_benchmark_choices
    where (facets ->> 'benchmark') = 'winobias' and (facets ->> 'stereotype') in ('pro', 'anti')
),

counted as (
    select
        run_id,
        any_value(provider) as provider,
        model,
        language,
        if(grouping(type) = 1, 'all', type) as type,
        count(*) as items,
        count(*) filter (where is_read) as read,
        count(*) filter (where outcome = 'refused') as refused,
        count(*) filter (where outcome is null or outcome = 'error') as errors,
        count(*) filter (where is_read and stereotype = 'pro') as pro_read,
        count(*) filter (where is_read and stereotype = 'anti') as anti_read,
        count(*) filter (where is_read and stereotype = 'pro' and outcome = 'passed') as pro_right,
        count(*) filter (where is_read and stereotype = 'anti' and outcome = 'passed') as anti_right
    from items
    group by grouping sets ((run_id, model, language, type), (run_id, model, language))
    -- a type with the total's name would be confused with it
    having grouping(type) = 1 or type <> 'all'
)

select
    *,
    items - read - refused - errors as unreadable,
    pro_right / nullif(pro_read, 0) as pro_accuracy,
    anti_right / nullif(anti_read, 0) as anti_accuracy,
    pro_accuracy - anti_accuracy as difference
from counted
