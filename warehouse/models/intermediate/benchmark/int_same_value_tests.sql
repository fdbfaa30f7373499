with templates as (
    select * from intermediate.int_templates where oracle_type = 'same value'
),

judged as (
    select
        cases.template_key,
        cases.sample,
        cases.instance_key,
        cases.is_judged,
        statistics.incomparable_as(cases.outcome, cases.parsed_value) as outcome,
        statistics.compared_number(cases.outcome, cases.parsed_value, cases.parsed_rest) as number
    from intermediate.int_case_outcomes as cases
    semi join templates using (template_key)
),

lowest_and_highest as (
    select
        judged.*,
        instances.communities_label,
        min(number) over test as lowest,
        max(number) over test as highest
    from judged
    inner join intermediate.int_instances as instances using (instance_key)
    window test as (partition by template_key, sample)
),

tests as (
    select
        template_key,
        sample,
        count(*) as instances,
        count(number) as numbers,
        any_value(lowest)::decimal(18, 6) as min_value,
        any_value(highest)::decimal(18, 6) as max_value,
        -- of the numbers as they were written: 12.0000001 is further from 10 than 2
        any_value(highest) - any_value(lowest) as spread,
        list_sort(list_distinct(list(communities_label) filter (where number = lowest))) as at_min,
        list_sort(list_distinct(list(communities_label) filter (where number = highest))) as at_max,
        count(*) filter (where is_judged) as judged,
        count(*) filter (where outcome = 'failed') as failed,
        count(*) filter (where outcome = 'error') as errors,
        count(*) filter (where outcome = 'unreadable') as unreadable,
        count(*) filter (where outcome = 'refused') as refused
    from lowest_and_highest
    group by template_key, sample
),

against_delta as (
    select
        tests.*,
        templates.run_id,
        templates.cell_id,
        templates.template_id,
        templates.scale_high - templates.scale_low as scale_width,
        criteria.evaluation_id,
        criteria.delta::decimal(9, 6) as delta,
        criteria.delta::decimal(9, 6) * (templates.scale_high - templates.scale_low) as admissible_spread
    from tests
    inner join templates using (template_key)
    left join staging.stg_criteria as criteria using (run_id, requirement)
)

select
    *,
    array_to_string(at_min, ', ') as communities_at_min,
    array_to_string(at_max, ', ') as communities_at_max,
    case
        when judged = 0 then null
        -- a single instance allows no comparison
        when instances < 2 then 'incomparable'
        when failed > 0 or spread > admissible_spread then 'failed'
        when errors > 0 then 'error'
        when unreadable > 0 then 'unreadable'
        when refused > 0 then 'refused'
        else 'passed'
    end as outcome
from against_delta
