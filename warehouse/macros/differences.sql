-- Tests of differences.

-- one sample per prompt: exact test on prompts for which only one of both passes (McNemar 1947)
create macro statistics.mcnemar_p_value(only_first, only_second) as
    list_transform(
        [{'fewer': least(only_first, only_second), 'both': only_first + only_second}],
        lambda given_: case
            when given_.both is null then null
            else least(1::double, 2 * statistics.binomial_cdf(given_.fewer, given_.both, 0.5::double))
        end
    )[1];

-- several samples: mean difference of rates and its clustered standard error, by row_rate and row_rate_se over
-- templates, from the sum of a template's differences and its number of prompts, with t at templates − 1. If all
-- templates differ equally, there is no standard error: then the probability that all differ in one direction.
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

-- p values adjusted for the false-discovery rate in one family of comparisons (Benjamini and Hochberg 1995), in two
-- windows over their rows: p_(j)·m/j, and the minimum from here to the top. A null is no test: it is not counted and
-- stays null.
create macro statistics.benjamini_hochberg_step(p_value, comparison) as
    least(
        1::double,
        p_value::double * count(p_value) over (partition by comparison)
            / row_number() over (partition by comparison order by p_value)
    );

create macro statistics.benjamini_hochberg(step, p_value, comparison) as
    case
        when p_value is null then null
        else min(step) over (
            partition by comparison order by p_value desc range between unbounded preceding and current row
        )
    end;

-- result of a tested difference, later minus earlier, at a false-discovery rate of 5%; one below `least_drop` is too
-- small to matter
create macro statistics.change(difference, q_value, least_drop := 0) as
    case
        when q_value is null then 'not compared'
        when q_value > 0.05 or difference = 0 or round(abs(difference) - least_drop, 9) < 0 then 'no difference shown'
        when difference < 0 then 'worse'
        else 'better'
    end;

-- exact two-sided sign test on pairs that differ: probability of at least as many in either direction if both are
-- equally likely. Null if no pair differs
create macro statistics.sign_test_p_value(one_way, other_way) as
    case when one_way + other_way > 0 then statistics.mcnemar_p_value(one_way, other_way) end;

-- the rows of the caller's CTE `rows_`, with adjusted p values as `q_value`
-- (DuckDB 1.4 takes an argument for a column of the same name)
create macro statistics.with_q_values(rows_, tested_, family_) as table
    with steps as (
        select *, statistics.benjamini_hochberg_step(tested_, family_) as step_ from query_table(rows_)
    )

    select * exclude (step_), statistics.benjamini_hochberg(step_, tested_, family_) as q_value from steps;
