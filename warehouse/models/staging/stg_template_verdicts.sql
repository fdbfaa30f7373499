with verdicts as (
    select * from staging.stg_verdicts where level = 'template'
),

final as (
    select
        unit_key,
        run_id,
        cell_id,
        template_id,
        sample,
        outcome
    from verdicts
)

select * from final
