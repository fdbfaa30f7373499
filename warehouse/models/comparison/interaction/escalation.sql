with scenes as (
    select *, (last_signs - first_signs) / pairs as moved from intermediate.int_scene_moves
),

-- each domain and the total; a domain with the total's name would be confused with it
spread as (
    select * from scenes where domain <> 'all'
    union all
    select * replace ('all' as domain) from scenes
),

sides as (
    from statistics.sides('marts.escalation', {
        'model': model,
        'language': language,
        'axis': axis,
        'domain': domain,
        'setting': setting,
        'mitigation': mitigation,
        'step': step,
        'is_control': is_control,
        'held_out': held_out
    })
),

-- the same scenes
means as (
    from statistics.paired_means('spread', {
        'model': model,
        'language': language,
        'axis': axis,
        'domain': domain,
        'setting': setting,
        'mitigation': mitigation,
        'step': step,
        'is_control': is_control,
        'held_out': held_out
    }, scene, moved)
),

tested as (
    select
        *,
        units as scenes,
        earlier_mean as earlier_moved,
        later_mean as later_moved,
        statistics.bounded_interval(difference, standard_error, units, -4, 4) as of_difference,
        statistics.paired_p_value(difference, standard_error, units) as p_value
    from means
),

-- totals are one family of comparisons, domains another, since totals contain the domains
adjusted as (
    from statistics.with_q_values('tested', p_value, domain = 'all')
)

select
    *,
    statistics.presence(earlier, later) as presence,
    earlier.pairs as earlier_pairs,
    later.pairs as later_pairs,
    earlier.difference as earlier_difference,
    later.difference as later_difference,
    of_difference.low as low,
    of_difference.high as high,
    coalesce(statistics.change(-adjusted.difference, q_value), 'not compared') as change,
    case
        when presence <> 'both' then 'played in one run alone'
        when adjusted.scenes is null then 'no scene has a class in both'
        when adjusted.p_value is null then 'too few scenes'
    end as why_not_compared
from sides
left join adjusted using (model, language, axis, domain, setting, mitigation, step, is_control, held_out)
