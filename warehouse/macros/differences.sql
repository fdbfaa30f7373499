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

-- p values adjusted for the false-discovery rate of all of one comparison together (Benjamini and Hochberg 1995), in
-- two windows over their rows: p_(j)·m/j, and the least of it from here to the top. A null is no test: it counts for
-- nothing and stays null.
create macro statistics.benjamini_hochberg_step(p_value, comparison) as
    least(
        1::double,
        p_value::double * count(p_value) over (partition by comparison)
            / row_number() over (partition by comparison order by p_value)
    );

create macro statistics.benjamini_hochberg(step, p_value, comparison) as
    if(
        p_value is null,
        null,
        min(step) over (partition by comparison order by p_value desc range between unbounded preceding and current row)
    );

-- what a tested difference shows, later less earlier, at a false-discovery rate of 5%
create macro statistics.change(difference, q_value) as
    case
        when q_value is null then 'not compared'
        when q_value > 0.05 then 'no difference shown'
        when difference < 0 then 'worse'
        else 'better'
    end;

-- of pairs that differ one way or the other: the chance of so many one way, or more, were both as likely (exact sign
-- test, one-sided); null where none differs
create macro statistics.sign_test_p_value(one_way, other_way) as
    list_transform(
        [{'other': other_way, 'both': one_way + other_way}],
        lambda given_: if(
            coalesce(given_.both, 0) = 0,
            null,
            statistics.binomial_cdf(given_.other, given_.both, 0.5::double)
        )
    )[1];

-- the rows of a step of the caller, named by `rows_`, with their p values so adjusted as `q_value`
create macro statistics.with_q_values(rows_, p_value, comparison) as table
    with steps as (
        select *, statistics.benjamini_hochberg_step(p_value, comparison) as step_ from query_table(rows_)
    )

    select * exclude (step_), statistics.benjamini_hochberg(step_, p_value, comparison) as q_value from steps;
