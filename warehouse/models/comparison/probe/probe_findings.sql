with trials as (
    select * from intermediate.int_probe_trials where score is not null
),

sides as (
    from statistics.sides('marts.probe_findings', {'pair': pair, 'model': model, 'language': language, 'test': test})
),

-- the same block of prompts of a pair, or as many others if another seed selected them
means as (
    from statistics.paired_means(
        'trials', {'pair': pair, 'model': model, 'language': language, 'test': test}, block, score
    )
),

tested as (
    select
        *,
        units as trials,
        earlier_mean as earlier_score,
        later_mean as later_score,
        statistics.bounded_interval(difference, standard_error, units, -2, 2) as of_difference,
        statistics.paired_p_value(difference, standard_error, units) as p_value,
        abs(earlier_mean) - abs(later_mean) as nearer_to_none
    from means
),

adjusted as (
    from statistics.with_q_values('tested', p_value, 'all of them')
)

select
    *,
    coalesce(earlier.concern, later.concern) as concern,
    coalesce(earlier.axis, later.axis) as axis,
    statistics.presence(earlier, later) as presence,
    earlier.trials as earlier_trials,
    later.trials as later_trials,
    earlier.compared as earlier_compared,
    later.compared as later_compared,
    earlier.stereotypical_share as earlier_stereotypical_share,
    later.stereotypical_share as later_stereotypical_share,
    earlier.finding as earlier_finding,
    later.finding as later_finding,
    of_difference.low as low,
    of_difference.high as high,
    case
        when nearer_to_none = 0 and q_value is not null then 'no difference shown'
        else coalesce(statistics.change(nearer_to_none, q_value), 'not compared')
    end as change,
    case
        when presence <> 'both' then 'asked in one run alone'
        when trials is null then 'no trial was read in both'
        when p_value is null then 'too few trials'
    end as why_not_compared
from sides
left join adjusted using (pair, model, language, test)
