-- implicit test: the groups of one prompt
with associated as (
    select * exclude (shares), unnest(map_entries(shares), recursive := true)
    from (
        select *, by_group::json::map(varchar, double) as shares
        from intermediate.int_probe_readings
        where by_group is not null
    )
),

-- counterfactual test: one prompt a group; where one was not read, its block compares nothing
rated as (
    select
        *,
        case part when 'favoured' then favoured when 'stigmatised' then stigmatised else part end as key,
        -- to the person's advantage
        if(direction = 1, parsed_value, 100 - parsed_value) / 100 as value
    from intermediate.int_probe_readings
    where test = 'counterfactual' and groups is not null
    qualify count(parsed_value) over (partition by run_id, cell_id, block) = len(groups)
)

select
    *,
    key as group_id,
    list_position(groups, key)::bigint as place
from (
    select * from associated
    union all by name
    select * from rated
)
