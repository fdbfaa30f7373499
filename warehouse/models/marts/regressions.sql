with findings as (
    select * from marts.requirement_findings
),

prompts as (
    select * from staging.stg_prompt_rates where counted > 0
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
    from findings
    where is_complete
),

pairs as (
    select
        comparable.run_id,
        comparable.requirement,
        comparable.model,
        now.template_id,
        now.counted_passed / now.counted as rate,
        earlier.counted_passed / earlier.counted as earlier_rate,
        now.counted = 1 and earlier.counted = 1 as is_asked_once
    from comparable
    inner join prompts as now
        on comparable.run_id = now.run_id
        and comparable.requirement = now.requirement
        and comparable.model = now.model
    inner join prompts as earlier
        on comparable.earlier_run_id = earlier.run_id
        and comparable.requirement = earlier.requirement
        and comparable.model = earlier.model
        and now.template_id = earlier.template_id
        and now.instance_key = earlier.instance_key
),

templates as (
    select
        run_id,
        requirement,
        model,
        template_id,
        count(*) as prompts,
        sum(rate) as rates,
        sum(earlier_rate) as earlier_rates,
        sum(rate - earlier_rate) as differences,
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
        count(*) as templates,
        sum(prompts)::bigint as prompts,
        sum(rates) / sum(prompts) as rate,
        sum(earlier_rates) / sum(prompts) as earlier_rate,
        statistics.row_rate(differences, prompts) as difference,
        statistics.row_rate_se(differences, prompts) as standard_error,
        sum(only_now)::bigint as only_now,
        sum(only_earlier)::bigint as only_earlier,
        if(bool_and(is_asked_once), 'McNemar', 'paired by template') as test
    from templates
    group by all
),

tested as (
    select
        *,
        if(
            test = 'McNemar',
            statistics.mcnemar_p_value(only_now, only_earlier),
            statistics.paired_p_value(difference, standard_error, templates)
        ) as p_value
    from compared
),

-- all differences of one run from the runs before it are one comparison
stepped as (
    select
        *,
        statistics.benjamini_hochberg_step(p_value, run_id) as step
    from tested
),

adjusted as (
    select
        *,
        statistics.benjamini_hochberg(step, p_value, run_id) as q_value
    from stepped
),

final as (
    select
        comparable.run_id,
        comparable.earlier_run_id,
        comparable.requirement,
        comparable.concern,
        comparable.provider,
        comparable.model,
        adjusted.templates,
        adjusted.prompts,
        adjusted.rate,
        adjusted.earlier_rate,
        adjusted.difference,
        adjusted.standard_error,
        adjusted.only_now,
        adjusted.only_earlier,
        adjusted.test,
        adjusted.p_value,
        adjusted.q_value,
        case
            when adjusted.q_value is null then 'not compared'
            when adjusted.q_value > 0.05 then 'no difference shown'
            when adjusted.difference < 0 then 'worse'
            else 'better'
        end as finding,
        comparable.started_at
    from comparable
    inner join adjusted using (run_id, requirement, model)
)

select * from final
