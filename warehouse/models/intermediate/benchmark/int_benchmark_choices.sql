with items as (
    select * from intermediate.int_benchmark_items where operation = 'choice'
),

verdicts as (
    select * from staging.stg_verdicts where level = 'instance'
)

select
    items.*,
    verdicts.parsed_text as role
from items
left join verdicts on items.case_key = verdicts.unit_key
