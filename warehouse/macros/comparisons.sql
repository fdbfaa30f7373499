-- Comparison of two runs. `rows_` names a CTE of the caller whose `run_id` is 'earlier' or 'later'.

-- the rows of the caller's CTE `rows_`, with the interval, p and q value of their `difference` by its `standard_error`
-- over so many `units`, in families of comparisons; `reach`: the largest possible difference
create macro statistics.with_paired_tests(rows_, units, reach, family) as table
    with tested_ as (
        select
            *,
            statistics.bounded_interval(difference, standard_error, units, -reach, reach) as of_difference,
            statistics.paired_p_value(difference, standard_error, units) as p_value
        from query_table(rows_)
    )

    select
        *,
        of_difference.low as low,
        of_difference.high as high
    from statistics.with_q_values('tested_', p_value, family);

create macro statistics.presence(earlier, later) as
    case when earlier is null then 'only later' when later is null then 'only earlier' else 'both' end;

-- the fields of `key`, a struct, as columns, and the row of each run as `earlier` and `later`, or null
create macro statistics.sides(rows_, key) as table
    select
        unnest(key_),
        earlier,
        later
    from (
        select
            key as key_,
            arg_max(row_, run_id) filter (where run_id = 'earlier') as earlier,
            arg_max(row_, run_id) filter (where run_id = 'later') as later
        from query_table(rows_) as row_
        group by key_
    );

-- the sides of `mart_` by `key`, and differences of `value`, later minus earlier, over the units of `rows_` that both runs
-- have: means, their 95% interval, p and q value; null where there are none. `reach`: the largest possible; `family_`:
-- tests that are adjusted together; `expectation`: what is none, of the later run; `is_binary`: exact test on the units
-- that differ. `nearer`: by how much the later mean is nearer to none
create macro statistics.paired_changes(
    mart_, rows_, key, unit, value, reach, family_, expectation := null, is_binary := false
) as table
    with both_sides as (
        from statistics.sides(mart_, {'key_': key})
    ),

    units as (
        select
            run_id,
            key as key_,
            unit as unit_,
            value::double as value_,
            expectation::double as expectation_,
            family_ as in_family
        from query_table(rows_)
    ),

    means as (
        select
            key_,
            any_value(later.in_family) as in_family,
            count(*) as units,
            statistics.mean_of_shares(earlier.value_) as earlier_mean,
            statistics.mean_of_shares(later.value_) as later_mean,
            statistics.mean_of_shares(later.expectation_) as expected,
            statistics.mean_of_shares(later.value_ - earlier.value_) as difference,
            statistics.se_of_shares(later.value_ - earlier.value_) as standard_error,
            count(*) filter (where earlier.value_ > later.value_) as only_earlier,
            count(*) filter (where later.value_ > earlier.value_) as only_later
        from (from units where run_id = 'earlier') as earlier
        inner join (from units where run_id = 'later') as later using (key_, unit_)
        group by key_
    ),

    tested as (
        select
            *,
            statistics.bounded_interval(difference, standard_error, units, -reach, reach) as of_difference,
            case
                when is_binary then statistics.mcnemar_p_value(only_earlier, only_later)
                else statistics.paired_p_value(difference, standard_error, units)
            end as p_value,
            abs(earlier_mean - coalesce(expected, 0)) - abs(later_mean - coalesce(expected, 0)) as nearer
        from means
    ),

    adjusted as (
        from statistics.with_q_values('tested', p_value, in_family)
    )

    select
        unnest(key_),
        earlier,
        later,
        adjusted.* exclude (key_, in_family, of_difference),
        of_difference.low as low,
        of_difference.high as high
    from both_sides
    left join adjusted using (key_);
