-- Decisions from counts and intervals.

-- outcome of a refusal by a requirement's rule: separate (neither), fail (also for an unreadable reply), pass
create macro statistics.counted_passed(rule varchar, passed bigint, refused bigint) as
    passed + case when rule = 'pass' then refused else 0 end;

create macro statistics.counted(
    rule varchar, passed bigint, failed bigint, refused bigint, unreadable bigint
) as
    passed + failed + case rule when 'pass' then refused when 'fail' then refused + unreadable else 0 end;

-- why a cell or a language is not evaluated; null where it is. Refusals that count as failures are counted already
create macro statistics.not_evaluated_because(
    tolerance double,
    measured bigint,
    refusal_rate double,
    most_refusals double,
    rule varchar,
    uncounted_because varchar
) as
    case
        when tolerance is null then 'no verdict yet'
        when refusal_rate > most_refusals and rule <> 'fail'
            then format(
                '{:.1f}% of the replies are refusals, more than {:.1f}%', 100 * refusal_rate, 100 * most_refusals
            )
        when coalesce(measured, 0) = 0 then coalesce(uncounted_because, 'no reply was judged')
    end;

-- a finding by the rate alone, without its interval; rates are compared beyond rounding
create macro statistics.point_finding(rate double, tolerance double) as
    case when rate >= tolerance - 1e-12 then 'met' else 'not met' end;

-- met if the whole interval reaches the tolerance, not met if none of it does; undecided without an interval. Null
-- without a tolerance, and if a bound is no finite number: NaN sorts above every tolerance
create macro statistics.decision(lower double, upper double, tolerance double) as
    list_transform(
        [{'lower': lower, 'upper': upper, 'tolerance': tolerance}],
        lambda given_: case
            when given_.tolerance is null or not isfinite(given_.tolerance) then null
            when not isfinite(given_.lower) or not isfinite(given_.upper) then null
            when given_.lower >= given_.tolerance then 'met'
            when given_.upper < given_.tolerance then 'not met'
            else 'undecided'
        end
    )[1];

-- what is not shown is met only where the upper end of its interval is below a bound that was stated beforehand
create macro statistics.state_by_bound(is_shown, is_evaluated, upper_end, bound) as
    case
        when is_shown then 'not met'
        when not is_evaluated then 'not evaluated'
        when upper_end < bound then 'met'
        else 'undecided'
    end;

-- fewest templates for which a perfect score is met, as the minimum for any score: G/(G + q²) ≥ tolerance, at most
-- seven more than with the normal quantile, since t has heavier tails. With 1 − tolerance: fewest for which a zero
-- score is not met. Null for a tolerance of 1, which no number of templates can show.
create macro statistics.templates_for_perfect_score(tolerance, confidence := 0.95) as
    list_transform(
        [{
            'tolerance': tolerance::double,
            'p': 0.5::double + confidence / 2,
            'least': greatest(
                2,
                ceil(
                    statistics.normal_quantile(0.5::double + confidence / 2) ** 2
                    * tolerance / nullif(1 - tolerance, 0)
                )
            )
        }],
        lambda given_: case
            when given_.tolerance is null or given_.tolerance >= 1 then null
            else list_filter(
            range(given_.least::bigint, given_.least::bigint + 8),
            lambda templates_:
                templates_ / (templates_ + statistics.t_quantile(given_.p, templates_ - 1) ** 2) >= given_.tolerance
        )[1]
        end
    )[1];

-- for a cell or a language: met needs as many templates as a perfect score, not met as many as a zero score. Otherwise
-- a few templates with slight variation would be met when as many perfect ones are not.
create macro statistics.decision_of_templates(
    lower double, upper double, tolerance double, templates double, if_perfect double, if_nothing double
) as
    list_transform(
        [{
            'decision': statistics.decision(lower, upper, tolerance),
            'can_be_met': coalesce(templates >= if_perfect, false),
            'can_be_not_met': coalesce(templates >= if_nothing, false)
        }],
        lambda given_: case
            when given_.decision = 'met' and not given_.can_be_met then 'undecided'
            when given_.decision = 'not met' and not given_.can_be_not_met then 'undecided'
            else given_.decision
        end
    )[1];

-- newest verdict per `unit` in the caller's CTE `rows_`: a run may be evaluated again, and a resumed run stores its
-- verdicts again
create macro statistics.newest_verdicts(rows_, unit) as table
    from query_table(rows_)
    qualify row_number() over (
        partition by unit order by evaluation_id desc, judged_at desc nulls last, verdict_id desc
    ) = 1;
