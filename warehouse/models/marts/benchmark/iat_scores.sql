with cases as (
    select * from intermediate.int_benchmark_items where operation = 'associations'
),

lists as (
    select
        *,
        coalesce(facets ->> 'category', '') as category,
        coalesce(facets ->> 'dataset', '') as dataset,
        -- an unreadable reply has no D, not a D of 0
        if(outcome in ('passed', 'failed'), parsed_value::double, null) as d
    from cases
    where (facets ->> 'benchmark') = 'iat'
),

counted as (
    select
        run_id,
        any_value(provider) as provider,
        model,
        language,
        if(grouping(category) = 1, 'all', category) as category,
        if(grouping(dataset) = 1, 'all', dataset) as dataset,
        count(*) as replies,
        count(d) as read,
        count(*) filter (where outcome = 'refused') as refused,
        count(*) filter (where outcome is null or outcome = 'error') as errors,
        list_aggregate(statistics.in_order(d), 'avg') as mean_d,
        list_aggregate(statistics.in_order(d), 'stddev_samp') as deviation_d
    from lists
    group by grouping sets (
        (run_id, model, language, category, dataset),
        (run_id, model, language, category),
        (run_id, model, language)
    )
    -- names that would be confused with a total
    having
        (grouping(category) = 1 or category <> 'all')
        and (grouping(dataset) = 1 or dataset <> 'all')
)

select
    *,
    replies - read - refused - errors as unreadable
from counted
