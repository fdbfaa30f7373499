-- From counts and intervals to decisions.

-- what a refusal counts as, by a requirement's rule: separate (neither), fail (an unreadable reply fails too), pass
create macro statistics.counted_passed(rule varchar, passed bigint, refused bigint) as
    passed + if(rule = 'pass', refused, 0);

create macro statistics.counted(
    rule varchar, passed bigint, failed bigint, refused bigint, unreadable bigint
) as
    passed + failed + case rule when 'pass' then refused when 'fail' then refused + unreadable else 0 end;

-- met where the whole interval reaches the tolerance, not met where none of it does; without an interval nothing is
-- decided
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

-- fewest templates with which a perfect score is met, G/(G + q²) ≥ tolerance: at most seven more than the normal
-- quantile asks for, since t has heavier tails. Null for a tolerance of 1, which no number of templates shows.
create macro statistics.templates_for_perfect_score(tolerance double, confidence double := 0.95) as
    list_transform(
        list_transform(
            [{'tolerance': tolerance, 'p': 0.5::double + confidence / 2}],
            lambda given_: {
                'tolerance': given_.tolerance,
                'p': given_.p,
                'least': greatest(
                    2,
                    ceil(
                        statistics.normal_quantile(given_.p) ** 2
                        * given_.tolerance / nullif(1 - given_.tolerance, 0)
                    )
                )
            }
        ),
        lambda from_: if(from_.tolerance is null or from_.tolerance >= 1, null, list_filter(
            range(from_.least::bigint, from_.least::bigint + 8),
            lambda templates_:
                templates_ / (templates_ + statistics.t_quantile(from_.p, templates_ - 1) ** 2) >= from_.tolerance
        )[1])
    )[1];
