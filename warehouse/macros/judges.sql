-- A judge on controls, which are replies of known verdict.

-- over rows with `control`, `truth`, `state` and `outcome`, one per control and order of the verdicts offered, in the
-- caller's relation `readings_`: figures by run, judge and language. A control is a cluster of its readings. Verdicts
-- other than passed and failed are excluded, as in the agreement of two assessors
create macro statistics.judge_figures(readings_) as table
    with controls as (
        select
            run_id,
            evaluation_id,
            judge,
            language,
            control,
            any_value(truth) as truth,
            count(*) as readings,
            nullif(count(*) filter (where outcome in ('passed', 'failed')), 0) as decided,
            count(*) filter (where outcome = truth) as correct,
            count(outcome) as given,
            count(distinct outcome) as verdicts,
            count(*) filter (where state = 'refused') as refused,
            count(*) filter (where state = 'unreadable') as unreadable,
            count(*) filter (where state = 'failed') as failed
        from query_table(readings_)
        group by all
    ),

    by_truth as (
        select
            *,
            case truth when 'passed' then correct end as true_passed,
            case truth when 'passed' then decided end as all_passed,
            case truth when 'failed' then correct end as true_failed,
            case truth when 'failed' then decided end as all_failed
        from controls
    )

    select
        run_id,
        evaluation_id,
        judge,
        language,
        count(*) as controls,
        count(decided) as controls_decided,
        sum(readings)::bigint as readings,
        sum(refused)::bigint as refused,
        sum(unreadable)::bigint as unreadable,
        sum(failed)::bigint as failed,
        statistics.macro_rate(true_passed, all_passed) as sensitivity,
        statistics.effective_n(
            sensitivity, statistics.macro_se(true_passed, all_passed), count(all_passed), sum(all_passed)
        ) as sensitivity_rows,
        statistics.macro_rate(true_failed, all_failed) as specificity,
        statistics.effective_n(
            specificity, statistics.macro_se(true_failed, all_failed), count(all_failed), sum(all_failed)
        ) as specificity_rows,
        count(*) filter (where given > 1) as read_twice,
        count(*) filter (where given > 1 and verdicts > 1) / nullif(read_twice, 0) as flicker
    from by_truth
    group by run_id, evaluation_id, judge, language;

-- fewest controls that a judge must pass or fail
create macro statistics.least_controls() as 40;

-- whether a judge's verdicts count: enough controls with a verdict, and neither share below the floor
create macro statistics.judge_qualifies(sensitivity, specificity, controls_decided, floor) as
    coalesce(
        controls_decided >= statistics.least_controls()
        and sensitivity >= floor - 1e-9
        and specificity >= floor - 1e-9,
        false
    );

-- a judge that is right no more often than chance gives no information about the true rate
create macro statistics.judge_informs(sensitivity, specificity) as
    round(sensitivity + specificity, 9) > 1;

-- Correction of a rate for a judge's error (Rogan and Gladen 1978), reply by reply: what the judge passed counts as
-- `truth_if_passed` and what it failed as `truth_if_failed`, whose expectations are 1 for a reply that follows the rule
-- and 0 for one that breaks it. For a test, which passes where every reply does, they are multiplied.
create macro statistics.truth_if_passed(sensitivity, specificity) as
    specificity / (sensitivity + specificity - 1);

create macro statistics.truth_if_failed(sensitivity, specificity) as
    (specificity - 1) / (sensitivity + specificity - 1);

-- of a test whose judge passed `passed` replies and failed `failed` ones: its corrected value, and how much it changes
-- with sensitivity and specificity (partial derivatives, for the delta method)
create macro statistics.corrected_test(passed, failed, sensitivity, specificity) as
    list_transform(
        [{
            'passed': passed,
            'failed': failed,
            'a': statistics.truth_if_passed(sensitivity, specificity)::double,
            'b': statistics.truth_if_failed(sensitivity, specificity)::double,
            'sensitivity': sensitivity,
            'specificity': specificity,
            'square': (sensitivity + specificity - 1) ** 2
        }],
        lambda given_: list_transform(
            [{
                'value': given_.a ** given_.passed * given_.b ** given_.failed,
                'by_a': case
                    when given_.passed = 0 then 0
                    else given_.passed * given_.a ** (given_.passed - 1) * given_.b ** given_.failed
                end,
                'by_b': case
                    when given_.failed = 0 then 0
                    else given_.failed * given_.b ** (given_.failed - 1) * given_.a ** given_.passed
                end
            }],
            lambda test_: {
                'value': test_.value,
                'by_sensitivity': (
                    (1 - given_.specificity) * test_.by_b - given_.specificity * test_.by_a
                ) / given_.square,
                'by_specificity': (
                    given_.sensitivity * test_.by_b - (1 - given_.sensitivity) * test_.by_a
                ) / given_.square
            }
        )[1]
    )[1];

-- variance of a share that was measured on so many rows; one right and one wrong are added, or a share of 1 would have none
create macro statistics.calibration_variance(share, n) as
    list_transform(
        [{'share': (share * n + 1) / (n + 2), 'n': n + 2}],
        lambda given_: given_.share * (1 - given_.share) / given_.n
    )[1];

-- delta method: standard error of a corrected rate by that of sensitivity and specificity, of m1 and m0 readings
create macro statistics.calibration_se(by_sensitivity, by_specificity, sensitivity, m1, specificity, m0) as
    sqrt(
        by_sensitivity ** 2 * statistics.calibration_variance(sensitivity, m1)
        + by_specificity ** 2 * statistics.calibration_variance(specificity, m0)
    );

-- interval of a corrected rate, which chance can take below 0 or above 1: Wilson's on its effective number of rows,
-- and each half widened by the error of the calibration (Zou and Donner 2008). `se` is that over templates
create macro statistics.corrected_interval(rate, se, calibration_se, templates, rows) as
    list_transform(
        list_transform(
            [{
                'rate': statistics.as_share(rate::double),
                'half': statistics.normal_quantile(0.975::double) * calibration_se,
                'wilson': statistics.wilson(
                    statistics.as_share(rate::double),
                    statistics.effective_n(
                        greatest(0.5 / templates, least(1 - 0.5 / templates, rate))::double,
                        se::double,
                        templates::double,
                        case when rate > 0 and rate < 1 then rows else templates end::double
                    ),
                    statistics.t_quantile(0.975::double, templates - 1)
                )
            }],
            lambda given_: {
                'rate': given_.rate,
                'below': sqrt((given_.rate - given_.wilson.low) ** 2 + given_.half ** 2),
                'above': sqrt((given_.wilson.high - given_.rate) ** 2 + given_.half ** 2)
            }
        ),
        lambda about_: case
            when about_.below is null then null
            else {
            'low': greatest(0, about_.rate - about_.below),
            'high': least(1, about_.rate + about_.above)
        }
        end
    )[1];
