-- What did each run cost, how many requests did it send, and how many replies stood in for asking?
select
    runs.run_id,
    runs.state,
    runs.started_at,
    sum(costs.requests)::bigint as requests,
    sum(costs.reused)::bigint as reused,
    sum(costs.failed)::bigint as failed,
    sum(costs.input_tokens + costs.output_tokens)::bigint as tokens,
    -- unknown where the price of one of its models is
    if(count(*) = count(costs.cost_usd), round(sum(costs.cost_usd), 4), null) as cost_usd,
    round(sum(costs.cost_usd) / nullif(sum(costs.requests), 0) * 1000, 4) as usd_per_thousand_requests
from marts.costs as costs
inner join staging.stg_runs as runs using (run_id)
group by all
order by runs.run_id desc;
