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

-- lower end of the interval of a perfect score: G/(G + q²)
create macro statistics.perfect_score_low(templates double, confidence double := 0.95) as
    list_transform(
        [{'templates': templates, 'q': statistics.t_quantile(0.5::double + confidence / 2, templates - 1)}],
        lambda given_: given_.templates / (given_.templates + given_.q ** 2)
    )[1];

-- the same for a cell: met only where a perfect score of so many templates would be, not met only where none passed
-- would be. Few templates that differ a little would else be met where as many perfect ones are not.
create macro statistics.decision_of_templates(
    lower double, upper double, tolerance double, templates double
) as
    list_transform(
        [{
            'decision': statistics.decision(lower, upper, tolerance),
            'tolerance': tolerance,
            'perfect': statistics.perfect_score_low(templates)
        }],
        lambda given_: case
            when given_.decision = 'met' and given_.perfect < given_.tolerance then 'undecided'
            when given_.decision = 'not met' and 1 - given_.perfect >= given_.tolerance then 'undecided'
            else given_.decision
        end
    )[1];

-- fewest templates with which a perfect score is met, and so any score: at most seven more than the normal
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
