with cases as (
    select * from staging.stg_cases where operation in ('choice', 'associations') and facets is not null
)

select
    cases.* exclude (case_key),
    case when cases.operation = 'choice' then try_cast(cases.oracle as json) ->> '$.expected[0]' end as right_role,
    outcomes.case_key,
    outcomes.outcome,
    outcomes.parsed_value
from cases
inner join intermediate.int_case_outcomes as outcomes using (case_key)
