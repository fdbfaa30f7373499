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

-- each domain and the total
spread as (
    from statistics.with_total('scenes')
),

-- the same scenes. Totals are one family of comparisons, domains another, since totals contain the domains
changes as (
    from statistics.paired_changes('marts.bias_scores', 'spread', {
        'model': model,
        'language': language,
        'axis': axis,
        'domain': domain,
        'setting': setting,
        'mitigation': mitigation,
        'stage': stage,
        'is_control': is_control,
        'held_out': held_out
    }, scene, score, 2, domain = 'all', expectation := expected_score)
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
    units as scenes,
    earlier_mean as earlier_score,
    later_mean as later_score,
    expected as expected_score,
    statistics.change(nearer, q_value) as change,
    case
        when presence <> 'both' then 'played in one run alone'
        when units is null then 'no scene has a class in both'
        when p_value is null then 'too few scenes'
    end as why_not_compared
from changes
