with asked as (
    select
        template_key,
        sample,
        count(*) as instances,
        count(*) filter (where is_judged) as judged,
        -- a readable same-value reply has no outcome of its own: only its template can pass
        count(*) filter (where outcome = 'passed') as passed,
        count(*) filter (where outcome = 'failed') as failed,
        count(*) filter (where outcome = 'refused') as refused,
        count(*) filter (where outcome = 'unreadable') as unreadable,
        count(*) filter (where outcome = 'error' or not is_judged) as errors,
        max(judged_at) as judged_at
    from intermediate.int_case_outcomes
    group by template_key, sample
),

planned as (
    select
        templates.run_id,
        templates.cell_id,
        templates.template_id,
        templates.oracle_type,
        asked.* exclude (template_key)
    from asked
    inner join intermediate.int_templates as templates using (template_key)
),

with_outcome as (
    select
        planned.*,
        if(planned.oracle_type = 'same value', same_value_tests.outcome, template_verdicts.outcome) as outcome,
        literal.outcome as literal_outcome
    from planned
    left join intermediate.int_langbite_tests as literal using (run_id, cell_id, template_id, sample)
    left join intermediate.int_same_value_tests as same_value_tests using (run_id, cell_id, template_id, sample)
    left join staging.stg_template_verdicts as template_verdicts using (run_id, cell_id, template_id, sample)
)

select
    * exclude (literal_outcome),
    -- its own rule where it was applied; else ours, in its terms: a refusal that matches no expected value fails its test, and a refusal among numbers excludes it
    case
        when outcome is null then null
        when literal_outcome is not null then literal_outcome
        when oracle_type = 'same value' and refused + unreadable + errors > 0 then 'error'
        -- LangBiTe: a single number has no spread
        when outcome = 'incomparable' then 'passed'
        when oracle_type = 'same value' then outcome
        when failed + refused + unreadable > 0 then 'failed'
        when errors > 0 then 'error'
        else 'passed'
    end as langbite_outcome
from with_outcome
