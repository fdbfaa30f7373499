-- Decisions from counts and intervals.

-- outcome of a refusal by a requirement's rule: separate (neither), fail (also for an unreadable reply), pass
create macro statistics.counted_passed(rule varchar, passed bigint, refused bigint) as
    passed + if(rule = 'pass', refused, 0);

create macro statistics.counted(
    rule varchar, passed bigint, failed bigint, refused bigint, unreadable bigint
) as
    passed + failed + case rule when 'pass' then refused when 'fail' then refused + unreadable else 0 end;

-- met if the whole interval reaches the tolerance, not met if none of it does; undecided without an interval
create macro statistics.decision(lower double, upper double, tolerance double) as
    list_transform(
        [{'lower': lower, 'upper': upper, 'tolerance': tolerance}],
        lambda given_: case
            when given_.tolerance is null then null
            when given_.lower >= given_.tolerance then 'met'
            when given_.upper < given_.tolerance then 'not met'
            else 'undecided'
        end
    )[1];

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
        lambda given_: if(given_.tolerance is null or given_.tolerance >= 1, null, list_filter(
            range(given_.least::bigint, given_.least::bigint + 8),
            lambda templates_:
                templates_ / (templates_ + statistics.t_quantile(given_.p, templates_ - 1) ** 2) >= given_.tolerance
        )[1])
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
