-- Tests of three or more groups that have a value each in every block.

-- over the rows of the caller's CTE `rows_`, with `block`, `group_id` and `value`, complete in each block: by the fields
-- of `key`, a struct, whether groups differ. Cochran's Q (1950), which is the same for shares and ratings as for 0 and 1,
-- its degrees of freedom lessened by Box's ε (1954; Greenhouse and Geisser 1959): two groups that go together in
-- every block would otherwise be found different too often. If all blocks have the same values there is no ε: then the
-- probability that they do by chance. No p with fewer than `fewest` blocks in which groups differ
create macro statistics.group_tests(rows_, key, fewest := 6) as table
    with measured as (
        select key as key_, block, group_id, value::double as value from query_table(rows_)
    ),

    levels as (
        select key_, block, statistics.mean_of_shares(value) as level, min(value) < max(value) as is_differing
        from measured
        group by key_, block
    ),

    centred as (
        select measured.*, value - level as away
        from measured
        inner join levels using (key_, block)
    ),

    effects as (
        select key_, group_id, statistics.mean_of_shares(away) as effect
        from centred
        group by key_, group_id
    ),

    residuals as (
        select key_, block, group_id, away - effect as residual
        from centred
        inner join effects using (key_, group_id)
    ),

    products as (
        select
            key_,
            one.group_id = other.group_id as is_variance,
            statistics.total(one.residual * other.residual) as product
        from residuals as one
        inner join residuals as other using (key_, block)
        group by key_, one.group_id, other.group_id
    ),

    spreads as (
        select
            key_,
            statistics.total(case when is_variance then product else 0 end) as trace,
            statistics.total(product * product) as squares
        from products
        group by key_
    ),

    between_groups as (
        select key_, count(*) as groups, statistics.total(effect * effect) as effects
        from effects
        group by key_
    ),

    within_blocks as (
        select key_, statistics.total(away * away) as deviations
        from centred
        group by key_
    ),

    blocks as (
        select key_, count(*) as blocks, count(*) filter (where is_differing) as differing
        from levels
        group by key_
    ),

    computed as (
        select
            *,
            (groups - 1) * blocks ** 2 * effects / nullif(deviations, 0) as q_statistic,
            -- rounding may leave it above 1
            case when trace > 1e-9 then least(1::double, trace ** 2 / squares / (groups - 1)) end as epsilon
        from blocks
        inner join between_groups using (key_)
        inner join within_blocks using (key_)
        inner join spreads using (key_)
    )

    select
        unnest(key_),
        groups,
        blocks,
        differing,
        q_statistic,
        epsilon,
        case
            when differing < fewest then null
            when epsilon is null then 0.5::double ** (blocks - 1)
            else statistics.chi2_p_value(epsilon * q_statistic, epsilon * (groups - 1))
        end as p_value
    from computed;

-- the rows of the caller's CTE `rows_`, with p values adjusted by Holm (1979) as `p_adjusted`: the chance of any false
-- one of the family is at most what they are compared with. A null is no test
create macro statistics.with_holm_values(rows_, tested_, family_) as table
    with steps as (
        select
            *,
            tested_::double * (
                count(tested_) over (partition by family_)
                + 1 - row_number() over (partition by family_ order by tested_)
            ) as step_
        from query_table(rows_)
    )

    select
        * exclude (step_),
        case
            when tested_ is not null
                then least(1::double, max(step_) over (
                    partition by family_ order by tested_ range between unbounded preceding and current row
                ))
        end as p_adjusted
    from steps;
