with findings as (
    select * from marts.probe_findings
),

trials as (
    select * from intermediate.int_probe_trials where score is not null
),

sides as (
    select
        pair,
        model,
        language,
        test,
        any_value(concern) as concern,
        any_value(axis) as axis,
        arg_max(findings, run_id) filter (where run_id = 'earlier') as earlier,
        arg_max(findings, run_id) filter (where run_id = 'later') as later
    from findings
    group by pair, model, language, test
),

-- the same block of prompts of a pair, or as many others where another seed has drawn them
compared as (
    select
        pair,
        model,
        language,
        test,
        count(*) as trials,
        statistics.mean_of_shares(earlier.score) as earlier_score,
        statistics.mean_of_shares(later.score) as later_score,
        statistics.mean_of_shares(later.score - earlier.score) as difference,
        statistics.se_of_shares(later.score - earlier.score) as standard_error
    from (from trials where run_id = 'earlier') as earlier
    inner join (from trials where run_id = 'later') as later using (pair, model, language, test, block)
    group by pair, model, language, test
),

tested as (
    select
        *,
        statistics.bounded_interval(difference, standard_error, trials, -2, 2) as of_difference,
        statistics.paired_p_value(difference, standard_error, trials) as p_value
    from compared
),

stepped as (
    select
        *,
        statistics.benjamini_hochberg_step(p_value, 'all of them') as step
    from tested
),

adjusted as (
    select
        *,
        statistics.benjamini_hochberg(step, p_value, 'all of them') as q_value
    from stepped
),

final as (
    select
        sides.concern,
        sides.axis,
        pair,
        model,
        language,
        test,
        case
            when sides.earlier is null then 'only later'
            when sides.later is null then 'only earlier'
            else 'both'
        end as presence,
        sides.earlier.trials as earlier_trials,
        sides.later.trials as later_trials,
        sides.earlier.compared as earlier_compared,
        sides.later.compared as later_compared,
        sides.earlier.stereotypical_share as earlier_stereotypical_share,
        sides.later.stereotypical_share as later_stereotypical_share,
        sides.earlier.finding as earlier_finding,
        sides.later.finding as later_finding,
        adjusted.trials,
        adjusted.earlier_score,
        adjusted.later_score,
        adjusted.difference,
        adjusted.standard_error,
        adjusted.of_difference.low as low,
        adjusted.of_difference.high as high,
        adjusted.p_value,
        adjusted.q_value,
        coalesce(statistics.change(-adjusted.difference, adjusted.q_value), 'not compared') as change,
        case
            when presence <> 'both' then 'asked in one run alone'
            when adjusted.trials is null then 'no trial was read in both'
            when adjusted.p_value is null then 'too few trials'
        end as why_not_compared
    from sides
    left join adjusted using (pair, model, language, test)
)

select * from final
