select
    template_key,
    instance_key,
    count(*) as cases,
    count(*) filter (where is_judged) as judged,
    count(*) filter (where outcome = 'passed') as passed,
    count(*) filter (where outcome = 'failed') as failed,
    count(*) filter (where outcome = 'refused') as refused,
    count(*) filter (where outcome = 'unreadable') as unreadable,
    count(*) filter (where outcome = 'error') as errors,
    count(parsed_value) filter (where outcome is null) as numbers,
    coalesce(sum(parsed_value) filter (where outcome is null), 0) as number_total
from intermediate.int_case_outcomes as judged
group by template_key, instance_key
