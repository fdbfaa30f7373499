with rates as (
    select
        rates.run_id,
        rates.requirement,
        rates.model,
        rates.language,
        rates.cluster,
        rates.measured_passed as passed,
        rates.measured,
        -- the same prompts under the same rules: an evaluation may have put another oracle in place
        hash(rates.language, rates.template_id, templates.prompts_key, templates.rules_key) as template
    from intermediate.int_template_rates as rates
    inner join intermediate.int_templates as templates using (run_id, cell_id, template_id)
    where
        rates.measured > 0
        and rates.run_id in (select unnest([run_id, earlier_run_id]) from intermediate.int_comparable_findings)
),

clusters as (
    select
        now.run_id,
        now.requirement,
        now.model,
        now.language,
        now.cluster,
        sum(now.passed) / sum(now.measured) as rate,
        sum(earlier.passed) / sum(earlier.measured) as earlier_rate,
        sum(now.measured) = 1 and sum(earlier.measured) = 1 as is_one_test
    from intermediate.int_comparable_findings as comparable
    inner join rates as now using (run_id, requirement, model)
    inner join rates as earlier
        on
            comparable.earlier_run_id = earlier.run_id
            and now.requirement = earlier.requirement
            and now.model = earlier.model
            and now.template = earlier.template
    group by all
),

compared as (
    select
        run_id,
        requirement,
        model,
        language,
        count(*) as templates,
        statistics.mean_of_shares(rate) as rate,
        statistics.mean_of_shares(earlier_rate) as earlier_rate,
        statistics.mean_of_shares(rate - earlier_rate) as difference,
        statistics.se_of_shares(rate - earlier_rate) as standard_error,
        count(*) filter (where rate > earlier_rate) as only_now,
        count(*) filter (where rate < earlier_rate) as only_earlier,
        if(bool_and(is_one_test), 'McNemar', 'paired by template') as test
    from clusters
    -- all languages together, and each separately
    group by grouping sets ((run_id, requirement, model), (run_id, requirement, model, language))
)

select
    comparable.*,
    compared.* exclude (run_id, requirement, model),
    if(
        compared.test = 'McNemar',
        statistics.mcnemar_p_value(compared.only_now, compared.only_earlier),
        statistics.paired_p_value(compared.difference, compared.standard_error, compared.templates)
    ) as p_value
from intermediate.int_comparable_findings as comparable
inner join compared using (run_id, requirement, model)
