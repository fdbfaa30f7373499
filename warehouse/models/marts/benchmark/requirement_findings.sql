with grouped as (
    select
        run_id,
        evaluation_id,
        requirement,
        concern,
        provider,
        model,
        any_value(refusals_rule) as refusals_rule,
        any_value(measure) as measure,
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
        sum(refused_replies) / nullif(sum(judged_cases), 0) as refusal_rate,
        sum(decided_by_people)::bigint as decided_by_people,
        sum(overridden_by_people)::bigint as overridden_by_people,
        sum(judge_decided)::bigint as judge_decided,
        sum(judge_overturned)::bigint as judge_overturned,
        min(started_at) as started_at,
        max(judged_at) as judged_at
    from marts.pass_rates
    group by run_id, evaluation_id, requirement, concern, provider, model
),

-- the worst language decides: not met by its interval, then by its rate, then not evaluated, undecided and met
languages as (
    select
        run_id,
        requirement,
        model,
        count(*) as languages,
        count(*) filter (where decision = 'met') as languages_met,
        count(*) filter (where decision = 'not met') as languages_not_met,
        count(*) filter (where decision = 'not evaluated') as languages_not_evaluated,
        max(templates_needed) as templates_needed,
        list_sort(list(distinct point_finding)) as point_findings,
        arg_min(
            language_findings,
            (
                decision <> 'not met',
                point_finding <> 'not met',
                list_position(['not evaluated', 'undecided', 'met'], decision),
                coalesce(rate, 0),
                coalesce(interval_low, 0),
                language
            )
        ) as worst
    from marts.language_findings
    group by run_id, requirement, model
),

-- languages that answer alike in every question differ by less than 3 / n, 19 times in 20 (Hanley, Lippman-Hand 1983)
compared as (
    select
        gaps.*,
        criteria.parity,
        abs(gaps.difference) as gap,
        if(gaps.difference < 0, -gaps.interval_high, gaps.interval_low) as gap_low,
        if(gaps.difference < 0, -gaps.interval_low, gaps.interval_high) as gap_high,
        case
            when coalesce(gap_low, gap - 3 / gaps.templates) > criteria.parity then 'not met'
            when coalesce(gap_high, gap + 3 / gaps.templates) <= criteria.parity
                and coalesce(gap_low, gap - 3 / gaps.templates) >= -criteria.parity
                then 'met'
            else 'undecided'
        end as decision
    from marts.language_parity as gaps
    inner join staging.stg_criteria as criteria using (run_id, requirement)
    where criteria.parity is not null
),

-- as with rates, the pair of languages that stands in the way most
gaps as (
    select
        run_id,
        requirement,
        model,
        count(*) filter (where decision = 'met') as pairs_met,
        arg_min(compared, (list_position(['not met', 'undecided', 'met'], decision), -gap)) as widest
    from compared
    group by run_id, requirement, model
),

parity as (
    select
        languages.run_id,
        languages.requirement,
        languages.model,
        criteria.parity,
        gaps.widest.gap as parity_gap,
        gaps.widest.gap_low as parity_low,
        gaps.widest.gap_high as parity_high,
        concat_ws(' and ', gaps.widest.language, gaps.widest.other_language) as parity_languages,
        case
            when gaps.widest.decision = 'not met' then 'not met'
            when gaps.pairs_met = languages.languages * (languages.languages - 1) / 2 then 'met'
            else 'undecided'
        end as parity_decision,
        case
            when gaps.widest is null then 'no question was judged in two languages'
            when parity_decision <> 'met'
                then
                    format(
                        '{} {:.1f}%, {} {:.1f}%: {:.1f} points apart ({}), at most {:.1f} are admitted',
                        gaps.widest.language, 100 * gaps.widest.rate,
                        gaps.widest.other_language, 100 * gaps.widest.other_rate,
                        100 * gaps.widest.gap,
                        coalesce(
                            format('{:.1f} to {:.1f}', 100 * gaps.widest.gap_low, 100 * gaps.widest.gap_high),
                            'no interval'
                        ),
                        100 * criteria.parity
                    )
        end as parity_because
    from languages
    inner join staging.stg_criteria as criteria using (run_id, requirement)
    left join gaps using (run_id, requirement, model)
    where criteria.parity is not null
),

with_coverage as (
    select
        grouped.*,
        languages.* exclude (run_id, requirement, model),
        parity.* exclude (run_id, requirement, model),
        grouped.coverage >= coalesce(grouped.coverage_floor, 1) as is_complete
    from grouped
    left join languages using (run_id, requirement, model)
    left join parity using (run_id, requirement, model)
),

decided as (
    select
        *,
        case
            when languages_not_evaluated = languages then 'not evaluated'
            -- missing replies may differ from received ones
            when not is_complete then 'undecided'
            when languages_not_met > 0 or parity_decision = 'not met' then 'not met'
            when languages_met = languages and coalesce(parity_decision, 'met') = 'met' then 'met'
            else 'undecided'
        end as decision
    from with_coverage
)

select
    * replace (
        coalesce(decided_by_people, 0) as decided_by_people,
        coalesce(overridden_by_people, 0) as overridden_by_people,
        coalesce(judge_decided, 0) as judge_decided,
        coalesce(judge_overturned, 0) as judge_overturned,
        if(decision = 'undecided', templates_needed, null) as templates_needed
    ),
    bool_and(is_complete) over (partition by run_id) as run_is_complete,
    case
        when list_contains(point_findings, 'not met') or parity_gap > parity then 'not met'
        when list_contains(point_findings, 'met') and len(point_findings) = 1 then 'met'
        else 'not evaluated'
    end as point_finding,
    worst.language as worst_language,
    worst.counted_templates as counted_templates,
    worst.measured as measured,
    worst.measured_passed as measured_passed,
    worst.rate as rate,
    worst.standard_error as standard_error,
    worst.effective_n as effective_n,
    worst.interval_low as interval_low,
    worst.interval_high as interval_high,
    worst.corrected_rate as corrected_rate,
    worst.corrected_low as corrected_low,
    worst.corrected_high as corrected_high,
    worst.not_evaluated_because as not_evaluated_because
from decided
