with moves as (
    select * from marts.escalation
),

scenes as (
    select *, (last_signs - first_signs) / pairs as moved from intermediate.int_scene_moves
),

-- each domain, and all together; a domain of that name would be mistaken for their total
spread as (
    select * from scenes where domain <> 'all'
    union all
    select * replace ('all' as domain) from scenes
),

sides as (
    select
        model,
        language,
        axis,
        domain,
        setting,
        mitigation,
        step,
        is_control,
        held_out,
        arg_max(moves, run_id) filter (where run_id = 'earlier') as earlier,
        arg_max(moves, run_id) filter (where run_id = 'later') as later
    from moves
    group by model, language, axis, domain, setting, mitigation, step, is_control, held_out
),

-- the same scenes
compared as (
    select
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
        statistics.mean_of_shares(earlier.moved) as earlier_moved,
        statistics.mean_of_shares(later.moved) as later_moved,
        statistics.mean_of_shares(later.moved - earlier.moved) as difference,
        statistics.se_of_shares(later.moved - earlier.moved) as standard_error
    from (from spread where run_id = 'earlier') as earlier
    inner join (from spread where run_id = 'later') as later
        using (model, language, axis, domain, setting, mitigation, step, is_control, held_out, scene)
    group by model, language, axis, domain, setting, mitigation, step, is_control, held_out
),

tested as (
    select
        *,
        statistics.bounded_interval(difference, standard_error, scenes, -4, 4) as of_difference,
        statistics.paired_p_value(difference, standard_error, scenes) as p_value
    from compared
),

-- totals are one comparison, domains another: the former are made of the latter
stepped as (
    select
        *,
        statistics.benjamini_hochberg_step(p_value, domain = 'all') as step_of_p
    from tested
),

adjusted as (
    select
        *,
        statistics.benjamini_hochberg(step_of_p, p_value, domain = 'all') as q_value
    from stepped
),

final as (
    select
        model,
        language,
        axis,
        domain,
        setting,
        mitigation,
        step,
        is_control,
        held_out,
        case
            when sides.earlier is null then 'only later'
            when sides.later is null then 'only earlier'
            else 'both'
        end as presence,
        sides.earlier.pairs as earlier_pairs,
        sides.later.pairs as later_pairs,
        sides.earlier.difference as earlier_difference,
        sides.later.difference as later_difference,
        adjusted.scenes,
        adjusted.earlier_moved,
        adjusted.later_moved,
        adjusted.difference,
        adjusted.standard_error,
        adjusted.of_difference.low as low,
        adjusted.of_difference.high as high,
        adjusted.p_value,
        adjusted.q_value,
        coalesce(statistics.change(-adjusted.difference, adjusted.q_value), 'not compared') as change,
        case
            when presence <> 'both' then 'played in one run alone'
            when adjusted.scenes is null then 'no scene has a class in both'
            when adjusted.p_value is null then 'too few scenes'
        end as why_not_compared
    from sides
    left join adjusted using (model, language, axis, domain, setting, mitigation, step, is_control, held_out)
)

select * from final
