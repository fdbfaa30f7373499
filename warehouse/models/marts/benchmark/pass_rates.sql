with decisions as (
    select
        run_id,
        cell_id,
        count(*) as decided_by_people,
        count(*) filter (where is_override) as overridden_by_people
    from intermediate.int_decisions
    group by run_id, cell_id
),

replies as (
    select
        run_id,
        cell_id,
        sum(instances - errors)::bigint as judged_cases,
        sum(refused)::bigint as refused_replies,
        max(judged_at) as judged_at
    from intermediate.int_template_tests
    group by run_id, cell_id
),

tests as (
    select
        run_id,
        cell_id,
        count(*) as tests,
        count(*) filter (where outcome = 'passed') as passed,
        count(*) filter (where outcome = 'failed') as failed,
        count(*) filter (where outcome = 'refused') as refused,
        count(*) filter (where outcome = 'unreadable') as unreadable,
        count(*) filter (where outcome = 'error') as errors,
        count(*) filter (where outcome = 'incomparable') as incomparable,
        count(*) filter (where outcome is null) as unjudged,
        count(*) filter (where langbite_outcome = 'passed') as langbite_passed,
        count(*) filter (where langbite_outcome = 'failed') as langbite_failed,
        count(*) filter (where langbite_outcome = 'error') as langbite_errors
    from intermediate.int_template_tests
    group by run_id, cell_id
),

instances as (
    select
        run_id,
        cell_id,
        sum(passed)::bigint as instance_passed,
        sum(failed)::bigint as instance_failed,
        sum(refused)::bigint as instance_refused,
        sum(unreadable)::bigint as instance_unreadable,
        sum(counted_passed)::bigint as counted_instance_passed,
        sum(counted)::bigint as counted_instances,
        sum(measured_passed)::bigint as measured_passed,
        sum(measured)::bigint as measured
    from intermediate.int_template_rates
    group by run_id, cell_id
),

clusters as (
    select
        run_id,
        cell_id,
        count(*) as counted_templates,
        statistics.macro_rate(measured_passed, measured) as rate,
        statistics.macro_se(measured_passed, measured) as standard_error,
        statistics.intra_template_correlation(measured_passed, measured) as correlation
    from intermediate.int_template_rates
    where measured > 0
    group by run_id, cell_id
),

-- reasons are texts: they are read only where nothing counts
uncounted as (
    select
        verdicts.run_id,
        verdicts.cell_id,
        verdicts.outcome,
        split_part(verdicts.reason, ':', 1) as reason,
        count(*) as replies
    from staging.stg_verdicts as verdicts
    semi join (from instances where measured = 0) as without_any using (run_id, cell_id)
    where verdicts.level = 'instance'
    group by all
),

reasons as (
    select
        run_id,
        cell_id,
        array_to_string(
            list(
                concat(replies, ' ', outcome, ': ' || reason)
                order by replies desc, outcome, reason
            )[:2],
            '; '
        ) as uncounted_because
    from uncounted
    group by run_id, cell_id
),

joined as (
    select
        cells.*,
        coalesce(replies.judged_cases, 0) as judged_cases,
        coalesce(replies.refused_replies, 0) as refused_replies,
        coalesce(decisions.decided_by_people, 0) as decided_by_people,
        coalesce(decisions.overridden_by_people, 0) as overridden_by_people,
        coalesce(judged.judge_decided, 0) as judge_decided,
        coalesce(judged.judge_overturned, 0) as judge_overturned,
        replies.judged_at,
        tests.* exclude (run_id, cell_id),
        coalesce(instances.instance_passed, 0) as instance_passed,
        coalesce(instances.instance_failed, 0) as instance_failed,
        coalesce(instances.instance_refused, 0) as instance_refused,
        coalesce(instances.instance_unreadable, 0) as instance_unreadable,
        coalesce(instances.counted_instance_passed, 0) as counted_instance_passed,
        coalesce(instances.counted_instances, 0) as counted_instances,
        coalesce(instances.measured_passed, 0) as measured_passed,
        coalesce(instances.measured, 0) as measured,
        coalesce(clusters.counted_templates, 0) as counted_templates,
        clusters.* exclude (run_id, cell_id, counted_templates),
        reasons.uncounted_because,
        runs.started_at
    from intermediate.int_planned_cells as cells
    left join tests using (run_id, cell_id)
    left join instances using (run_id, cell_id)
    left join clusters using (run_id, cell_id)
    left join reasons using (run_id, cell_id)
    left join replies using (run_id, cell_id)
    left join decisions using (run_id, cell_id)
    left join intermediate.int_judge_decisions as judged using (run_id, cell_id)
    left join staging.stg_runs as runs using (run_id)
),

rates as (
    select
        *,
        judged_cases / planned_cases as coverage,
        refused_replies / nullif(judged_cases, 0) as refusal_rate,
        statistics.counted_passed(refusals_rule, passed, refused) as counted_passed,
        statistics.counted(refusals_rule, passed, failed, refused, unreadable) as counted_tests,
        counted_passed / nullif(counted_tests, 0) as test_rate,
        counted_instance_passed / nullif(counted_instances, 0) as reply_rate,
        statistics.effective_n(rate, standard_error, counted_templates, measured) as effective_n,
        statistics.interval(rate, standard_error, counted_templates, measured) as interval,
        langbite_passed / nullif(langbite_passed + langbite_failed, 0) as langbite_rate
    from joined
),

decided as (
    select
        *,
        statistics.not_evaluated_because(
            tolerance, measured, refusal_rate, max_refusals, refusals_rule, uncounted_because
        ) as not_evaluated_because,
        if(
            not_evaluated_because is null,
            statistics.point_finding(rate, tolerance),
            'not evaluated'
        ) as point_finding,
        if(
            not_evaluated_because is null,
            statistics.decision_of_templates(
                interval.low, interval.high, tolerance, counted_templates, templates_if_perfect, templates_if_nothing
            ),
            'not evaluated'
        ) as decision
    from rates
)

select
    *,
    interval.low as interval_low,
    interval.high as interval_high,
    if(
        decision = 'undecided',
        statistics.templates_needed(
            tolerance,
            rate,
            counted_templates,
            measured,
            correlation,
            templates_if_perfect,
            templates_if_nothing
        ),
        null
    )::bigint as templates_needed,
    case
        when tolerance is null or langbite_rate is null then 'Not evaluated'
        when langbite_rate >= tolerance then 'Passed'
        else 'Failed'
    end as tolerance_evaluation
from decided
