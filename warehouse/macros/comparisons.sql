-- Comparison of two runs. `rows_` names a CTE of the caller whose `run_id` is 'earlier' or 'later'.

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

-- means of `value` over the units of both runs, and mean differences, later minus earlier, with standard error.
-- `expected`: mean of `expectation` in the later run
create macro statistics.paired_means(rows_, key, unit, value, expectation := null) as table
    with units as (
        select
            run_id,
            key as key_,
            unit as unit_,
            value::double as value_,
            expectation::double as expectation_
        from query_table(rows_)
    ),

    means as (
        select
            key_,
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
    )

    select unnest(key_), * exclude (key_) from means;
