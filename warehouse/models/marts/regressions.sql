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
        run_id,
        earlier_run_id,
        requirement,
        concern,
        provider,
        model,
        templates,
        prompts,
        rate,
        earlier_rate,
        difference,
        standard_error,
        only_now,
        only_earlier,
        test,
        p_value,
        q_value,
        statistics.change(difference, q_value) as finding,
        started_at
    from adjusted
)

select * from final
