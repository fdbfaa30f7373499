with cases as (
    select * from staging.stg_cases
),

verdicts as (
    select * from staging.stg_verdicts where level = 'instance'
),

template_tests as (
    select * from staging.stg_template_tests
),

criteria as (
    select * from staging.stg_criteria
),

runs as (
    select * from staging.stg_runs
),

cells as (
    select
        run_id,
        cell_id,
        any_value(requirement) as requirement,
        any_value(concern) as concern,
        any_value(provider) as provider,
        any_value(model) as model,
        any_value(language) as language,
        any_value(input) as input,
        any_value(reflection) as reflection,
        count(*) as planned_cases,
        count(distinct template_id) as templates
    from cases
    group by run_id, cell_id
),

replies as (
    select
        run_id,
        cell_id,
        count(*) filter (where outcome is null or outcome <> 'error') as judged_cases,
        count(*) filter (where outcome = 'refused') as refused_replies,
        max(judged_at) as judged_at
    from verdicts
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
    from template_tests
    group by run_id, cell_id
),

-- a same-value template is one comparison, whatever the number of its communities
instance_rows as (
    select
        run_id,
        cell_id,
        passed,
        failed,
        refused,
        unreadable
    from template_tests
    where oracle_type = 'expected value'
    union all by name
    select
        run_id,
        cell_id,
        (outcome = 'passed')::int as passed,
        (outcome = 'failed')::int as failed,
        (outcome = 'refused')::int as refused,
        (outcome = 'unreadable')::int as unreadable
    from template_tests
    where oracle_type = 'same value'
),

instances as (
    select
        run_id,
        cell_id,
        coalesce(sum(passed), 0)::bigint as instance_passed,
        coalesce(sum(failed), 0)::bigint as instance_failed,
        coalesce(sum(refused), 0)::bigint as instance_refused,
        coalesce(sum(unreadable), 0)::bigint as instance_unreadable
    from instance_rows
    group by run_id, cell_id
),

joined as (
    select
        cells.*,
        coalesce(replies.judged_cases, 0) as judged_cases,
        coalesce(replies.refused_replies, 0) as refused_replies,
        replies.judged_at,
        tests.* exclude (run_id, cell_id),
        instances.* exclude (run_id, cell_id),
        criteria.* exclude (run_id, requirement, concern, recorded_at),
        runs.started_at
    from cells
    left join tests using (run_id, cell_id)
    left join instances using (run_id, cell_id)
    left join replies using (run_id, cell_id)
    left join criteria using (run_id, requirement)
    left join runs using (run_id)
),

-- what a refusal counts as; an unreadable reply is a failure too where a refusal is one
counted as (
    select
        *,
        if(refusals_rule = 'fail', refused + unreadable, 0) as failed_otherwise,
        if(refusals_rule = 'pass', refused, 0) as passed_otherwise,
        if(refusals_rule = 'fail', instance_refused + instance_unreadable, 0) as instance_failed_otherwise,
        if(refusals_rule = 'pass', instance_refused, 0) as instance_passed_otherwise,
        passed + passed_otherwise as counted_passed,
        counted_passed + failed + failed_otherwise as counted_tests,
        instance_passed + instance_passed_otherwise as counted_instance_passed,
        counted_instance_passed + instance_failed + instance_failed_otherwise as counted_instances,
        langbite_passed + langbite_failed as langbite_total
    from joined
),

rates as (
    select
        *,
        judged_cases / planned_cases as coverage,
        counted_passed / nullif(counted_tests, 0) as point_rate,
        counted_instance_passed / nullif(counted_instances, 0) as instance_rate,
        refused_replies / nullif(judged_cases, 0) as refusal_rate,
        langbite_passed / nullif(langbite_total, 0) as langbite_rate
    from counted
),

final as (
    select
        run_id,
        evaluation_id,
        cell_id,
        requirement,
        concern,
        provider,
        model,
        language,
        input,
        reflection,
        refusals_rule,
        tolerance,
        max_refusals,
        planned_cases,
        judged_cases,
        coverage,
        coverage_floor,
        templates,
        tests,
        passed,
        failed,
        refused,
        unreadable,
        errors,
        incomparable,
        unjudged,
        counted_tests,
        counted_passed,
        point_rate,
        instance_passed,
        instance_failed,
        instance_refused,
        instance_unreadable,
        counted_instances,
        counted_instance_passed,
        instance_rate,
        refused_replies,
        refusal_rate,
        null::double as interval_low,
        null::double as interval_high,
        case
            when tolerance is null or point_rate is null or refusal_rate > max_refusals then 'not evaluated'
            when point_rate >= tolerance then 'met'
            else 'not met'
        end as point_finding,
        null::varchar as decision,
        null::bigint as templates_needed,
        langbite_passed,
        langbite_failed,
        langbite_errors,
        langbite_rate,
        case
            when tolerance is null or langbite_rate is null then 'Not evaluated'
            when langbite_rate >= tolerance then 'Passed'
            else 'Failed'
        end as tolerance_evaluation,
        started_at,
        judged_at
    from rates
)

select * from final
