-- each domain and the total; a domain with the total's name would be confused with it
with spread as (
    select * from intermediate.int_scene_moves as scenes where domain <> 'all'
    union all
    select * replace ('all' as domain) from intermediate.int_scene_moves as scenes
),

compared as (
    select
        run_id,
        any_value(provider) as provider,
        model,
        language,
        axis,
        domain,
        setting,
        mitigation,
        step,
        is_control,
        held_out,
        count(*) as scenes,
        sum(pairs)::bigint as pairs,
        statistics.row_rate(first_signs, pairs) as first_score,
        statistics.row_rate(last_signs, pairs) as last_score,
        statistics.row_rate(last_signs - first_signs, pairs) as difference,
        statistics.row_rate_se(last_signs - first_signs, pairs) as standard_error
    from spread
    group by run_id, model, language, axis, domain, setting, mitigation, step, is_control, held_out
),

tested as (
    select
        *,
        statistics.bounded_interval(difference, standard_error, scenes, -2, 2) as of_difference,
        statistics.paired_p_value(difference, standard_error, scenes) as p_value
    from compared
),

-- totals of one model are one family of comparisons, its domains another
adjusted as (
    from statistics.with_q_values('tested', p_value, (run_id, model, step, is_control, domain = 'all'))
)

select
    *,
    of_difference.low as low,
    of_difference.high as high
from adjusted
