with scenes as (
    select *, (last_signs - first_signs) / pairs as moved from intermediate.int_scene_moves
),

-- each domain and the total
spread as (
    from statistics.with_total('scenes')
),

-- the same scenes. Totals are one family of comparisons, domains another, since totals contain the domains
changes as (
    from statistics.paired_changes('marts.escalation', 'spread', {
        'model': model,
        'language': language,
        'axis': axis,
        'domain': domain,
        'setting': setting,
        'mitigation': mitigation,
        'step': step,
        'is_control': is_control,
        'held_out': held_out
    }, scene, moved, 4, domain = 'all')
)

select
    *,
    statistics.presence(earlier, later) as presence,
    earlier.pairs as earlier_pairs,
    later.pairs as later_pairs,
    earlier.difference as earlier_difference,
    later.difference as later_difference,
    units as scenes,
    earlier_mean as earlier_moved,
    later_mean as later_moved,
    statistics.change(-difference, q_value) as change,
    case
        when presence <> 'both' then 'played in one run alone'
        when units is null then 'no scene has a class in both'
        when p_value is null then 'too few scenes'
    end as why_not_compared
from changes
