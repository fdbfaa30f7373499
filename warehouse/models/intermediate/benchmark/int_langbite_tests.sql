with replies as (
    select
        template_key,
        sample,
        count(*) as instances,
        count(*) filter (where is_judged) as judged,
        count(*) filter (where outcome = 'error' or not is_judged or langbite_outcome = 'error') as errors,
        bool_and(langbite_outcome = 'passed') as all_passed,
        max(langbite_value) - min(langbite_value) as spread,
        min(langbite_difference) as difference
    from intermediate.int_case_outcomes
    semi join (from intermediate.int_templates where is_literal) as literal using (template_key)
    group by template_key, sample
)

select
    templates.run_id,
    templates.cell_id,
    templates.template_id,
    templates.operation,
    replies.* exclude (template_key, judged),
    case
        when replies.judged = 0 then null
        when replies.errors > 0 then 'error'
        -- floating-point numbers, as in LangBiTe
        when templates.oracle_type = 'same value'
            then if(replies.spread <= criteria.delta * 100, 'passed', 'failed')
        when replies.all_passed then 'passed'
        else 'failed'
    end as outcome
from replies
inner join intermediate.int_templates as templates using (template_key)
left join staging.stg_criteria as criteria using (run_id, requirement)
