-- reading it twice is faster than materialising it with its names
with prompts as not materialized (
    select * from intermediate.int_prompt_rates where counted > 0
),

comparable as (
    select
        run_id,
        lag(run_id) over (partition by requirement, model order by started_at, run_id) as earlier_run_id,
        requirement,
        concern,
        provider,
        model,
        started_at
    from marts.requirement_findings
    where is_complete
),

-- numbers in place of the names of prompts, for millions of rows
now as (
    select
        comparable.run_id,
        comparable.requirement,
        comparable.model,
        prompts.language,
        prompts.template_id,
        prompts.instance_key,
        hash(
            comparable.earlier_run_id,
            comparable.requirement,
            comparable.model,
            prompts.language,
            prompts.template_id
        ) as earlier_question,
        prompts.counted_passed / prompts.counted as rate,
        prompts.counted = 1 as is_asked_once
    from comparable
    inner join prompts using (run_id, requirement, model)
    where comparable.earlier_run_id is not null
),

earlier as (
    select
        hash(run_id, requirement, model, language, template_id) as question,
        instance_key,
        counted_passed / counted as rate,
        counted = 1 as is_asked_once
    from prompts
),

pairs as (
    select
        now.run_id,
        now.requirement,
        now.model,
        now.language,
        now.template_id,
        now.rate,
        earlier.rate as earlier_rate,
        now.is_asked_once and earlier.is_asked_once as is_asked_once
    from now
    inner join earlier
        on now.earlier_question = earlier.question
        and now.instance_key = earlier.instance_key
),

templates as (
    select
        run_id,
        requirement,
        model,
        language,
        template_id,
        count(*) as prompts,
        -- decimals give the same sum in any order
        sum(rate::decimal(38, 18))::double as rates,
        sum(earlier_rate::decimal(38, 18))::double as earlier_rates,
        sum((rate - earlier_rate)::decimal(38, 18))::double as differences,
        count(*) filter (where rate > earlier_rate) as only_now,
        count(*) filter (where rate < earlier_rate) as only_earlier,
        bool_and(is_asked_once) as is_asked_once
    from pairs
    group by all
),

compared as (
    select
        run_id,
        requirement,
        model,
        language,
        count(*) as templates,
        sum(prompts)::bigint as prompts,
        sum(rates::decimal(38, 18))::double / sum(prompts) as rate,
        sum(earlier_rates::decimal(38, 18))::double / sum(prompts) as earlier_rate,
        statistics.row_rate(differences, prompts) as difference,
        statistics.row_rate_se(differences, prompts) as standard_error,
        sum(only_now)::bigint as only_now,
        sum(only_earlier)::bigint as only_earlier,
        if(bool_and(is_asked_once), 'McNemar', 'paired by template') as test
    from templates
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
from comparable
inner join compared using (run_id, requirement, model)
