with scores as (
    select * from marts.bias_scores
),

replies as (
    select * from intermediate.int_assignments where question = 'assignment' and class is not null
),

scenes as (
    select
        run_id,
        model,
        language,
        axis,
        domain,
        setting,
        mitigation,
        stage,
        is_control,
        held_out,
        scene,
        avg(sign) as score,
        any_value(expected_score) as expected_score
    from replies
    group by run_id, model, language, axis, domain, setting, mitigation, stage, is_control, held_out, scene
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
        stage,
        is_control,
        held_out,
        arg_max(scores, run_id) filter (where run_id = 'earlier') as earlier,
        arg_max(scores, run_id) filter (where run_id = 'later') as later
    from scores
    group by model, language, axis, domain, setting, mitigation, stage, is_control, held_out
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
        stage,
        is_control,
        held_out,
        count(*) as scenes,
        statistics.mean_of_shares(earlier.score) as earlier_score,
        statistics.mean_of_shares(later.score) as later_score,
        statistics.mean_of_shares(later.expected_score) as expected_score,
        statistics.mean_of_shares(later.score - earlier.score) as difference,
        statistics.se_of_shares(later.score - earlier.score) as standard_error
    from (from spread where run_id = 'earlier') as earlier
    inner join (from spread where run_id = 'later') as later
        using (model, language, axis, domain, setting, mitigation, stage, is_control, held_out, scene)
    group by model, language, axis, domain, setting, mitigation, stage, is_control, held_out
),

tested as (
    select
        *,
        statistics.bounded_interval(difference, standard_error, scenes, -2, 2) as of_difference,
        statistics.paired_p_value(difference, standard_error, scenes) as p_value
    from compared
),

-- totals are one comparison, domains another: the former are made of the latter
stepped as (
    select
        *,
        statistics.benjamini_hochberg_step(p_value, domain = 'all') as step
    from tested
),

adjusted as (
    select
        *,
        statistics.benjamini_hochberg(step, p_value, domain = 'all') as q_value,
        abs(earlier_score - expected_score) - abs(later_score - expected_score) as nearer_to_chance
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
        stage,
        is_control,
        held_out,
        case
            when sides.earlier is null then 'only later'
            when sides.later is null then 'only earlier'
            else 'both'
        end as presence,
        sides.earlier.replies as earlier_replies,
        sides.later.replies as later_replies,
        sides.earlier.classed as earlier_classed,
        sides.later.classed as later_classed,
        sides.earlier.bias_score as earlier_bias_score,
        sides.later.bias_score as later_bias_score,
        sides.earlier.decision as earlier_decision,
        sides.later.decision as later_decision,
        adjusted.scenes,
        adjusted.earlier_score,
        adjusted.later_score,
        adjusted.expected_score,
        adjusted.difference,
        adjusted.standard_error,
        adjusted.of_difference.low as low,
        adjusted.of_difference.high as high,
        adjusted.p_value,
        adjusted.q_value,
        case
            when adjusted.nearer_to_chance = 0 and adjusted.q_value is not null then 'no difference shown'
            else coalesce(statistics.change(adjusted.nearer_to_chance, adjusted.q_value), 'not compared')
        end as change,
        case
            when presence <> 'both' then 'played in one run alone'
            when adjusted.scenes is null then 'no scene has a class in both'
            when adjusted.p_value is null then 'too few scenes'
        end as why_not_compared
    from sides
    left join adjusted using (model, language, axis, domain, setting, mitigation, stage, is_control, held_out)
)

select * from final
