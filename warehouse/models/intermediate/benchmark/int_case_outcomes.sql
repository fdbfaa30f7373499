with verdicts as not materialized (
    select * from staging.stg_verdicts where level = 'instance'
)

-- millions of rows: numbers and short words, no long texts
select
    cases.*,
    verdicts.unit_key is not null as is_judged,
    verdicts.outcome,
    verdicts.parsed_value,
    -- of a number with more than six decimals, what the column rounds away
    case
        when verdicts.outcome is null
            then (try_cast(verdicts.parsed_text as decimal(38, 18)) - verdicts.parsed_value)::decimal(18, 12)
    end as parsed_rest,
    verdicts.langbite_outcome,
    verdicts.langbite_value,
    verdicts.langbite_difference,
    verdicts.judged_at
from staging.stg_cases as cases
left join verdicts on cases.case_key = verdicts.unit_key
