-- What did each run cost, how many requests did it send, and how many replies stood in for asking?
select
    run_id,
    kind,
    scenario,
    state,
    started_at,
    requests,
    reused,
    failed,
    input_tokens + output_tokens as tokens,
    round(cost_usd, 4) as cost_usd,
    round(1000 * cost_usd / nullif(requests, 0), 4) as usd_per_thousand_requests
from marts.runs
where requests is not null
order by run_id desc;
