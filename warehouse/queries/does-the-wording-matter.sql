-- Does a model pass more when it may only answer in a few words, or when it is asked how the world should be?
select
    model,
    input,
    reflection,
    sum(counted_instances)::bigint as instances,
    round(100 * sum(counted_instance_passed) / nullif(sum(counted_instances), 0), 1) as passed_percent,
    round(100 * sum(refused_replies) / sum(judged_cases), 1) as refused_percent
from marts.pass_rates
where run_id = (select max(run_id) from marts.pass_rates)
group by model, input, reflection
order by model, input, reflection;
