-- read from staging, where each case is known to be unique
with counted as (
    select
        template_key,
        count(*) as cases
    from intermediate.int_case_outcomes
    group by template_key
),

-- joined by one number in place of three names, for millions of rows
planned as (
    select
        template_key,
        any_value(run_id) as run_id,
        any_value(cell_id) as cell_id,
        any_value(template_id) as template_id,
        any_value(requirement) as requirement,
        any_value(concern) as concern,
        any_value(provider) as provider,
        any_value(model) as model,
        any_value(language) as language,
        any_value(input) as input,
        any_value(reflection) as reflection,
        min(template) as template,
        min(cluster) as cluster,
        max(sample) as samples,
        any_value(parameters) as parameters,
        hash(sum(instance_key)) as prompts_key,
        min(oracle_type) as oracle_type,
        min(oracle) as oracle
    from staging.stg_cases as cases
    group by template_key
),

-- what the newest evaluation put in the place of the oracles with which cases were planned
rules as (
    select
        run_id,
        cell_id,
        template,
        hash(sum(hash(wording, rule))) as rules_key
    from lake.rules
    semi join staging.stg_criteria using (run_id, evaluation_id)
    group by run_id, cell_id, template
)

select
    planned.* exclude (oracle),
    rules.rules_key,
    planned.oracle ->> 'operation' as operation,
    coalesce(planned.oracle ->> 'reading' = 'both', false)
    and operation in ('equal', 'different', 'notIncludesAny', 'allEqualExpected', 'allSameValue') as is_literal,
    coalesce((planned.oracle -> 'scale' ->> 'low')::decimal(18, 6), 0) as scale_low,
    coalesce((planned.oracle -> 'scale' ->> 'high')::decimal(18, 6), 100) as scale_high,
    counted.cases
from planned
inner join counted using (template_key)
left join rules using (run_id, cell_id, template)
