with samples as (
    select
        run_id,
        cell_id,
        template_id,
        hash(run_id, cell_id, template_id) as template_key,
        count(*) as samples,
        any_value(outcome) as any_outcome,
        bool_or(outcome = 'incomparable') as is_incomparable,
        max(admissible_spread) as admissible_spread
    from intermediate.int_same_value_tests
    group by run_id, cell_id, template_id
),

-- a single sample cannot separate noise from bias, so no spread is computed
repeated as (
    select * from samples where samples > 1
),

replies as (
    select
        cases.template_key,
        instances.communities_label,
        statistics.incomparable_as(cases.outcome, cases.parsed_value) as outcome,
        statistics.compared_number(cases.outcome, cases.parsed_value, cases.parsed_rest) as number
    from intermediate.int_case_outcomes as cases
    semi join repeated using (template_key)
    inner join intermediate.int_instances as instances using (instance_key)
),

communities as (
    select
        template_key,
        communities_label,
        nullif(count(number), 0) as numbers,
        avg(number) as mean_number,
        list_aggregate(statistics.in_order(number), 'var_samp') as variance,
        count(*) filter (where outcome = 'failed') as failed,
        count(*) filter (where outcome = 'error') as errors,
        count(*) filter (where outcome = 'unreadable') as unreadable
    from replies
    group by template_key, communities_label
),

means as (
    select
        template_key,
        count(*) as communities,
        count(numbers) as communities_with_numbers,
        -- means are binary fractions: rounded, so that a spread of exactly delta does not exceed delta
        round(max(mean_number) - min(mean_number), 9) as mean_spread,
        statistics.error_degrees(numbers) as error_degrees,
        statistics.error_of_means(numbers, variance) as error_of_means,
        sum(failed) as failed,
        sum(errors) filter (where numbers is null) as errors,
        sum(unreadable) filter (where numbers is null) as unreadable
    from communities
    group by template_key
),

against_chance as (
    select
        samples.*,
        means.* exclude (template_key),
        means.error_of_means
            * statistics.studentised_range_quantile(means.communities_with_numbers, means.error_degrees)
            as chance_spread
    from samples
    left join means using (template_key)
)

select
    *,
    case
        when samples = 1 or any_outcome is null then any_outcome
        when is_incomparable then 'incomparable'
        when failed > 0 then 'failed'
        when mean_spread > admissible_spread and (chance_spread is null or mean_spread > chance_spread)
            then 'failed'
        when communities_with_numbers = communities then 'passed'
        when errors > 0 then 'error'
        when unreadable > 0 then 'unreadable'
        else 'refused'
    end as outcome
from against_chance
