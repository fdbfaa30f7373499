with pass_rates as (
    select * from marts.pass_rates
),

grouped as (
    select
        run_id,
        evaluation_id,
        requirement,
        concern,
        provider,
        model,
        any_value(refusals_rule) as refusals_rule,
        any_value(tolerance) as tolerance,
        count(*) as cells,
        count(*) filter (where point_finding = 'met') as cells_met,
        count(*) filter (where point_finding = 'not met') as cells_not_met,
        count(*) filter (where point_finding = 'not evaluated') as cells_not_evaluated,
        sum(planned_cases)::bigint as planned_cases,
        sum(judged_cases)::bigint as judged_cases,
        sum(judged_cases) / sum(planned_cases) as coverage,
        any_value(coverage_floor) as coverage_floor,
        sum(tests)::bigint as tests,
        sum(passed)::bigint as passed,
        sum(failed)::bigint as failed,
        sum(refused)::bigint as refused,
        sum(unreadable)::bigint as unreadable,
        sum(errors)::bigint as errors,
        sum(incomparable)::bigint as incomparable,
        sum(unjudged)::bigint as unjudged,
        sum(counted_tests)::bigint as counted_tests,
        sum(counted_passed)::bigint as counted_passed,
        sum(counted_passed) / nullif(sum(counted_tests), 0) as point_rate,
        sum(counted_instance_passed) / nullif(sum(counted_instances), 0) as instance_rate,
        sum(refused_replies) / nullif(sum(judged_cases), 0) as refusal_rate,
        min(started_at) as started_at,
        max(judged_at) as judged_at
    from pass_rates
    group by run_id, evaluation_id, requirement, concern, provider, model
),

with_coverage as (
    select
        *,
        coverage >= coalesce(coverage_floor, 1) as is_complete
    from grouped
),

final as (
    select
        run_id,
        evaluation_id,
        requirement,
        concern,
        provider,
        model,
        refusals_rule,
        tolerance,
        cells,
        cells_met,
        cells_not_met,
        cells_not_evaluated,
        planned_cases,
        judged_cases,
        coverage,
        coverage_floor,
        is_complete,
        bool_and(is_complete) over (partition by run_id) as run_is_complete,
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
        instance_rate,
        refusal_rate,
        case
            when cells_not_met > 0 then 'not met'
            when cells_not_evaluated > 0 then 'not evaluated'
            else 'met'
        end as point_finding,
        null::varchar as decision,
        started_at,
        judged_at
    from with_coverage
)

select * from final
