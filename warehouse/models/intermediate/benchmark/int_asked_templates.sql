select
    run_id,
    requirement,
    model,
    max(samples) as samples,
    -- the seed of a request is no condition of a comparison
    min(json_merge_patch(parameters::json, '{"seed": null}')::varchar) as parameters,
    sum(hash(language, template_id)) as template_set
from intermediate.int_templates
group by run_id, requirement, model
