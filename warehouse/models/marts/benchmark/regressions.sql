with tested as (
    select * from marts.paired_differences where language is null
),

-- all differences of one run from the runs before it are one comparison
stepped as (
    select
        *,
        statistics.benjamini_hochberg_step(p_value, run_id) as step
    from tested
),

adjusted as (
    select
        *,
        statistics.benjamini_hochberg(step, p_value, run_id) as q_value
    from stepped
),

final as (
    select
        *,
        statistics.change(difference, q_value) as finding
    from adjusted
)

from final
