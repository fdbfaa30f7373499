-- each cell counts in every grouping that it belongs to
with scopes as (
    select
        run_id,
        cell_id,
        unnest([
            {'scope': 'all', 'concern': 'all', 'language': 'all', 'model': 'all'},
            {'scope': 'concern', 'concern': concern, 'language': 'all', 'model': 'all'},
            {'scope': 'language', 'concern': 'all', 'language': language, 'model': 'all'},
            {'scope': 'model', 'concern': 'all', 'language': 'all', 'model': model},
            {'scope': 'concern × language × model', 'concern': concern, 'language': language, 'model': model}
        ]) as grouping_
    from intermediate.int_planned_cells
),

ranked as (
    select
        *,
        -- a person before an oracle, an oracle before a judge; two people by name
        list_position(['person', 'oracle', 'model'], assessor_kind) as rank
    from intermediate.int_opinions
),

-- two people who assessed one sample share its probability; samples with different seeds overlap by both probabilities
pairs as (
    select
        run_id,
        first.evaluation_id,
        cell_id,
        {
            'reference_kind': first.assessor_kind,
            'reference': first.assessor,
            'assessor_kind': second.assessor_kind,
            'assessor': second.assessor
        } as assessors,
        first.state as reference_state,
        second.state as assessor_state,
        list_position(['passed', 'failed', 'refused', 'unreadable'], first.outcome) as reference_verdict,
        list_position(['passed', 'failed', 'refused', 'unreadable'], second.outcome) as assessor_verdict,
        1 / if(
            first.assessor_kind = second.assessor_kind and first.seed = second.seed,
            least(first.probability, second.probability),
            first.probability * second.probability
        ) as weight
    from ranked as first
    inner join ranked as second using (run_id, cell_id, case_id)
    where (first.rank, first.assessor) < (second.rank, second.assessor)
),

tallied as (
    select
        run_id,
        evaluation_id,
        grouping_,
        assessors,
        reference_verdict,
        assessor_verdict,
        count(*) as replies,
        sum(weight::decimal(38, 9))::double as weights,
        sum((weight ** 2)::decimal(38, 9))::double as squares,
        count(*) filter (where reference_state <> 'given') as reference_silent,
        count(*) filter (where assessor_state = 'skipped') as assessor_skipped,
        count(*) filter (where assessor_state = 'refused') as assessor_refused,
        count(*) filter (where assessor_state = 'unreadable') as assessor_unreadable,
        count(*) filter (where assessor_state = 'failed') as assessor_failed
    from pairs
    inner join scopes using (run_id, cell_id)
    group by all
),

squared as (
    select
        run_id,
        evaluation_id,
        grouping_,
        assessors,
        sum(replies)::bigint as asked,
        sum(reference_silent)::bigint as reference_silent,
        sum(assessor_skipped)::bigint as assessor_skipped,
        sum(assessor_refused)::bigint as assessor_refused,
        sum(assessor_unreadable)::bigint as assessor_unreadable,
        sum(assessor_failed)::bigint as assessor_failed,
        coalesce(sum(replies) filter (where reference_verdict + assessor_verdict > 0), 0)::bigint as n,
        coalesce(sum(replies) filter (where reference_verdict = 1 and assessor_verdict = 1), 0)::bigint as true_passed,
        coalesce(sum(replies) filter (where reference_verdict = 1 and assessor_verdict = 2), 0)::bigint as false_failed,
        coalesce(sum(replies) filter (where reference_verdict = 2 and assessor_verdict = 1), 0)::bigint as false_passed,
        coalesce(sum(replies) filter (where reference_verdict = 2 and assessor_verdict = 2), 0)::bigint as true_failed,
        statistics.square_of(reference_verdict, assessor_verdict, weights) as weights,
        statistics.square_of(reference_verdict, assessor_verdict, squares) as squares
    from tallied
    group by all
),

-- pass rate of the assessor over all replies that it assessed: an oracle assesses all, others a sample
judged as (
    select
        run_id,
        cell_id,
        'oracle' as assessor_kind,
        'oracle' as assessor,
        passed::double as passed,
        (passed + failed)::double as weights,
        (passed + failed)::double as squares
    from intermediate.int_oracle_rates
    union all by name
    select
        run_id,
        cell_id,
        assessor_kind,
        assessor,
        coalesce(sum((1 / probability)::decimal(38, 9)) filter (where outcome = 'passed'), 0)::double as passed,
        sum((1 / probability)::decimal(38, 9))::double as weights,
        sum((1 / probability ** 2)::decimal(38, 9))::double as squares
    from intermediate.int_opinions
    where assessor_kind <> 'oracle' and outcome in ('passed', 'failed')
    group by all
),

raw as (
    select
        run_id,
        grouping_,
        assessor_kind,
        assessor,
        sum(passed::decimal(38, 9))::double / nullif(sum(weights::decimal(38, 9))::double, 0) as raw_pass_rate,
        statistics.rows_of_weights(
            sum(weights::decimal(38, 9))::double, sum(squares::decimal(38, 9))::double
        ) as raw_rows
    from judged
    inner join scopes using (run_id, cell_id)
    group by all
),

in_two as (
    select
        unnest(squared.grouping_),
        unnest(squared.assessors),
        squared.* exclude (grouping_, assessors),
        raw.raw_pass_rate,
        raw.raw_rows,
        [weights[1][:2], weights[2][:2]] as two,
        [squares[1][:2], squares[2][:2]] as two_squares,
        statistics.all_counted(weights) as weighted_n,
        statistics.rows_of_weights(statistics.all_counted(weights), statistics.all_counted(squares)) as rows
    from squared
    left join raw
        on
            squared.run_id = raw.run_id
            and squared.grouping_ = raw.grouping_
            and squared.assessors.assessor_kind = raw.assessor_kind
            and squared.assessors.assessor = raw.assessor
),

compared as (
    from statistics.with_agreement('in_two')
),

measured as (
    select
        *,
        if(n > 0, statistics.observed_agreement(weights), null) as outcomes_agreement,
        if(n > 0, statistics.cohens_kappa(weights), null) as outcomes_kappa,
        if(n > 0, statistics.cohens_kappa_se(weights, squares), null) as outcomes_kappa_se,
        if(n > 0, statistics.gwets_ac1(weights), null) as outcomes_ac1,
        if(n > 0, statistics.gwets_ac1_se(weights, squares), null) as outcomes_ac1_se
    from compared
),

corrected as (
    select
        *,
        statistics.agreement_interval(
            outcomes_kappa, outcomes_kappa_se, outcomes_agreement, rows, q
        ) as outcomes_kappa_interval,
        statistics.agreement_interval(outcomes_ac1, outcomes_ac1_se, outcomes_agreement, rows, q) as outcomes_ac1_interval,
        if(
            statistics.judge_informs(sensitivity, specificity),
            statistics.corrected_rate(raw_pass_rate, sensitivity, specificity),
            null
        ) as theta,
        q * statistics.corrected_rate_se(
            raw_pass_rate, raw_rows, sensitivity, first_rows, specificity, second_rows
        ) as theta_half
    from measured
)

select
    *,
    n - true_passed - false_failed - false_passed - true_failed as otherwise,
    outcomes_kappa_interval.low as outcomes_kappa_low,
    outcomes_kappa_interval.high as outcomes_kappa_high,
    outcomes_ac1_interval.low as outcomes_ac1_low,
    outcomes_ac1_interval.high as outcomes_ac1_high,
    statistics.as_share(theta) as corrected_rate,
    statistics.as_share(theta - theta_half) as corrected_rate_low,
    statistics.as_share(theta + theta_half) as corrected_rate_high
from corrected
