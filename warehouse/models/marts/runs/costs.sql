with asked as (
    select
        run_id,
        provider,
        model,
        count(*) filter (where reused_from is null and attempts > 0) as requests,
        count(*) filter (where reused_from is not null and error_class is null) as reused,
        count(*) filter (where reused_from is null and error_class is not null and is_answer) as failed,
        count(*) filter (where purpose = 'judge' and reused_from is null and attempts > 0) as judge_requests,
        coalesce(sum(attempts) filter (where reused_from is null), 0)::bigint as attempts,
        sum(input_tokens) filter (where reused_from is null)::bigint as input_tokens,
        sum(output_tokens) filter (where reused_from is null)::bigint as output_tokens,
        if(
            count(*) filter (where reused_from is null and attempts > 0) = 0,
            0,
            -- decimals give the same sum in any order
            sum(cost_usd::decimal(38, 12)) filter (where reused_from is null)::double
        ) as cost_usd,
        count(*) filter (where reused_from is null and error_class is null and cost_usd is null) as requests_without_price,
        sum(latency_ms::decimal(38, 6)) filter (where reused_from is null)::double
            / count(latency_ms) filter (where reused_from is null) as mean_latency_ms
    from staging.stg_responses
    group by run_id, provider, model
),

spent as (
    select
        run_id,
        model,
        sum(seconds::decimal(38, 6))::double as seconds
    from staging.stg_cells
    group by run_id, model
)

select
    asked.*,
    spent.seconds
from asked
left join spent using (run_id, model)
