with scenes as (
    from intermediate.int_scene_moves
),

-- each domain and the total
spread as (
    from statistics.with_total('scenes')
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
)

-- totals of one model are one family of comparisons, its domains another
from statistics.with_paired_tests('compared', scenes, 2, (run_id, model, step, is_control, domain = 'all'))
