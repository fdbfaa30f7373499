with cases as not materialized (
    select
        *,
        hash(run_id, cell_id, case_id) as unit
    from lake.cases
),

-- a run that was killed during planning has stored its cases twice; only those long rows are compared
once as (
    select * from cases anti join lake.repeated_cases using (unit)
    union all
    select *
    from cases
    semi join lake.repeated_cases using (unit)
    qualify row_number() over (partition by run_id, cell_id, case_id order by template_id) = 1
)

select
    * replace (facets::json as facets, coalesce(cluster, template_id) as cluster),
    -- DuckDB 1.4 joins no elements to null, not to an empty text
    case when communities is not null then coalesce(array_to_string(communities, ' × '), '') end as communities_label,
    unit as case_key,
    hash(run_id, cell_id, template_id) as template_key,
    hash(instance_id) as instance_key
from once
