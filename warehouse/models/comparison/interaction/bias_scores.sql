with replies as (
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
    group by all
),

-- each domain and the total; a domain with the total's name would be confused with it
spread as (
    select * from scenes where domain <> 'all'
    union all
    select * replace ('all' as domain) from scenes
),

sides as (
    from statistics.sides('marts.bias_scores', {
        'model': model,
        'language': language,
        'axis': axis,
        'domain': domain,
        'setting': setting,
        'mitigation': mitigation,
        'stage': stage,
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
        'stage': stage,
        'is_control': is_control,
        'held_out': held_out
    }, scene, score, expectation := expected_score)
),

tested as (
    select
        *,
        units as scenes,
        earlier_mean as earlier_score,
        later_mean as later_score,
        expected as expected_score,
        abs(earlier_mean - expected) - abs(later_mean - expected) as nearer_to_chance,
        statistics.bounded_interval(difference, standard_error, units, -2, 2) as of_difference,
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
    earlier.replies as earlier_replies,
    later.replies as later_replies,
    earlier.classed as earlier_classed,
    later.classed as later_classed,
    earlier.bias_score as earlier_bias_score,
    later.bias_score as later_bias_score,
    earlier.decision as earlier_decision,
    later.decision as later_decision,
    of_difference.low as low,
    of_difference.high as high,
    case
        when nearer_to_chance = 0 and q_value is not null then 'no difference shown'
        else coalesce(statistics.change(nearer_to_chance, q_value), 'not compared')
    end as change,
    case
        when presence <> 'both' then 'played in one run alone'
        when adjusted.scenes is null then 'no scene has a class in both'
        when adjusted.p_value is null then 'too few scenes'
    end as why_not_compared
from sides
left join adjusted using (model, language, axis, domain, setting, mitigation, stage, is_control, held_out)
