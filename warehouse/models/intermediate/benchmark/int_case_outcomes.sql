with verdicts as not materialized (
    select * from staging.stg_verdicts where level = 'instance'
)

-- millions of rows: numbers and short words, no long texts
select
    cases.*,
    verdicts.unit_key is not null as is_judged,
    verdicts.outcome,
    verdicts.parsed_value,
    verdicts.judged_at
from staging.stg_cases as cases
left join verdicts on cases.case_key = verdicts.unit_key
