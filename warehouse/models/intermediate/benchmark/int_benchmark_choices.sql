with items as (
    select * from intermediate.int_benchmark_items where operation = 'choice'
),

verdicts as (
    select * from staging.stg_verdicts where level = 'instance'
),

final as (
    select
        items.run_id,
        items.cell_id,
        items.case_id,
        items.template_id,
        items.sample,
        items.provider,
        items.model,
        items.language,
        items.facets,
        items.outcome,
        verdicts.parsed_text as role
    from items
    left join verdicts on items.case_key = verdicts.unit_key
)

select * from final
