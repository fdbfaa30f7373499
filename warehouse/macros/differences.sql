-- Is one better than the other?

-- one sample per prompt: exact test on the prompts where just one of both passes (McNemar 1947)
create macro statistics.mcnemar_p_value(only_first, only_second) as
    list_transform(
        [{'fewer': least(only_first, only_second), 'both': only_first + only_second}],
        lambda given_: if(
            given_.both is null,
            null,
            least(1::double, 2 * statistics.binomial_cdf(given_.fewer, given_.both, 0.5::double))
        )
    )[1];

-- several samples: the mean difference of rates and its clustered standard error are row_rate and row_rate_se over
-- templates, of the sum of a template's differences and the number of its prompts; t with templates − 1. Where every
-- template differs alike there is no standard error: the chance that all differ to one side.
create macro statistics.paired_p_value(difference, se, templates) as
    list_transform(
        [{'difference': difference::double, 'se': se::double, 'templates': templates::double}],
        lambda given_: case
            when given_.templates < 2 then null
            when given_.se > 0 then statistics.t_p_value(given_.difference / given_.se, given_.templates - 1)
            when given_.difference = 0 then 1::double
            when given_.se = 0 then 0.5::double ** (given_.templates - 1)
        end
    )[1];

-- p_(j)·m/j and all above it, of p values in ascending order; of equal ones, the first
create macro statistics.step_up(ascending double[], p double) as
    list_transform(
        [{'all': ascending, 'p': p}],
        lambda given_: list_min(list_transform(
            range(list_position(given_.all, given_.p), len(given_.all) + 1),
            lambda rank_: least(1::double, given_.all[rank_] * len(given_.all) / rank_)
        ))
    )[1];

-- p values adjusted for the false-discovery rate of all of them together, in the order given (Benjamini and Hochberg
-- 1995). A null is no test: it counts for nothing and stays null. Of rows: list(p order by id), then unnest.
create macro statistics.benjamini_hochberg(p_values double[]) as
    list_transform(
        [{'p': p_values, 'ascending': list_sort(list_filter(p_values, lambda p_: p_ is not null))}],
        lambda given_: list_transform(
            given_.p,
            lambda p_: if(p_ is null, null, statistics.step_up(given_.ascending, p_))
        )
    )[1];
