-- a template with its twin counts once for each requirement and language
with templates as (
    select
        run_id,
        model,
        concern,
        sum(measured_passed) as passed,
        sum(measured) as measured
    from intermediate.int_template_rates
    where measured > 0
    group by run_id, model, concern, requirement, language, cluster
)

select
    run_id,
    model,
    concern,
    statistics.macro_rate(passed, measured) as rate
from templates
group by run_id, model, concern
