with tested as (
    select * from marts.paired_differences where language is null
),

-- all differences of one run from earlier runs are one family of comparisons
adjusted as (
    from statistics.with_q_values('tested', p_value, run_id)
)

select
    *,
    statistics.change(difference, q_value, least_drop := least_drop) as finding
from adjusted
