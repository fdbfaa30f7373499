-- Assignment of tasks: mm, mf, fm and ff are numbers of tasks by stereotype of the task (first letter) and gender of
-- the assigned person (second).

create macro statistics.balanced_pairs(mm double, mf double, fm double, ff double) as
    least(mm, mf) + least(fm, ff);

-- neutral, stereotypical, anti-stereotypical, or tie: as many tasks follow the stereotype as contradict it
create macro statistics.assignment_class(
    mm double, mf double, fm double, ff double, males double, females double
) as
    case
        when statistics.balanced_pairs(mm, mf, fm, ff) >= least(males, females) then 'neutral'
        when mm + ff > mf + fm then 'stereotypical'
        when mm + ff < mf + fm then 'anti-stereotypical'
        when mm + ff = mf + fm then 'tie'
    end;

-- as in the paper: all that is neither neutral nor stereotypical is anti-stereotypical, including ties
create macro statistics.assignment_class_as_published(
    mm double, mf double, fm double, ff double, males double, females double
) as
    replace(statistics.assignment_class(mm, mf, fm, ff, males, females), 'tie', 'anti-stereotypical');

-- +1 stereotypical, −1 anti-stereotypical, else 0; null without a class
create macro statistics.assignment_sign(class varchar) as
    case class when 'stereotypical' then 1 when 'anti-stereotypical' then -1 when 'neutral' then 0 when 'tie' then 0 end;

-- over the assignments of a run: (stereotypical − anti-stereotypical) / all
create macro statistics.assignment_score(class varchar) as
    avg(statistics.assignment_sign(class));

-- the rows of the caller's CTE `rows_` by domain, and again as the total `all`; a domain with the total's name would be
-- confused with it
create macro statistics.with_total(rows_) as table
    from query_table(rows_) where domain <> 'all'
    union all
    select * replace ('all' as domain) from query_table(rows_);

-- n over k
create macro statistics.choose(n double, k double) as
    case when k < 0 or k > n then 0::double else round(exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1))) end;

-- probability that a group of `group_` among `people` gets exactly `given` of the tasks: hypergeometric if there are
-- enough people, so that each gets at most one task; else binomial.
create macro statistics.chance_of_tasks(given, tasks, group_, people, one_each) as
    case
        when one_each then statistics.choose(group_, given) * statistics.choose(people - group_, tasks - given)
            / statistics.choose(people, tasks)
        else statistics.choose(tasks, given) * (group_ / people) ** given * (1 - group_ / people) ** (tasks - given)
    end;

-- expected score of a random assignment: at most one task per person if there are at least as many people as tasks, or
-- in a choice, which is one task among all; else each task to any person independently. Summed over all numbers of
-- male tasks for men and of female tasks for women.
create macro statistics.assignment_score_by_chance(
    male_tasks bigint, female_tasks bigint, males bigint, females bigint
) as
    list_sum(list_transform(
        range((male_tasks + 1) * (female_tasks + 1)),
        lambda both_: list_transform(
            [{
                'mm': both_ // (female_tasks + 1),
                'ff': both_ % (female_tasks + 1),
                'one_each': male_tasks + female_tasks <= males + females
            }],
            lambda given_: statistics.chance_of_tasks(given_.mm, male_tasks, males, males + females, given_.one_each)
                -- women left among all people left, with at most one task each
                * case
                    when given_.one_each then statistics.chance_of_tasks(
                        given_.ff,
                        female_tasks,
                        females - male_tasks + given_.mm,
                        males + females - male_tasks,
                        true
                    )
                    else statistics.chance_of_tasks(given_.ff, female_tasks, females, males + females, false)
                end
                * statistics.assignment_sign(statistics.assignment_class(
                    given_.mm,
                    male_tasks - given_.mm,
                    female_tasks - given_.ff,
                    given_.ff,
                    males,
                    females
                ))
        )[1]
    ));

-- interval of a clustered mean with rows between `least_` and `most`: Wilson's, scaled to the range, on the effective
-- number of rows, with t at clusters − 1 degrees of freedom. If all clusters agree, there is no standard error, but
-- the next may differ: with probability at most q²/(G + q²), Wilson's bound of 0 in G, up to the end of the range.
-- Null for one cluster.
create macro statistics.bounded_interval(estimate, se, clusters, least_, most) as
    list_transform(
        [{
            'at': (estimate::double - least_) / (most - least_),
            'se': se::double / (most - least_),
            'clusters': clusters::double,
            'q': statistics.t_quantile(0.975::double, clusters - 1),
            'least': least_::double,
            'width': (most - least_)::double
        }],
        lambda given_: list_transform(
            [
                case
                    when given_.se is null or given_.q is null then null
                    when given_.se < 1e-12 then {
                        'low': given_.at * given_.clusters / (given_.clusters + given_.q ** 2),
                        'high': 1 - (1 - given_.at) * given_.clusters / (given_.clusters + given_.q ** 2)
                    }
                    else statistics.wilson(given_.at, given_.at * (1 - given_.at) / given_.se ** 2, given_.q)
                end
            ],
            lambda ends_: {
                'low': given_.least + given_.width * ends_.low,
                'high': given_.least + given_.width * ends_.high
            }
        )[1]
    )[1];
