with scenarios as (
    select
        *,
        try_cast(scenario_resolved as json) as scenario
    from staging.stg_runs
),

evaluations as (
    select
        run_id,
        max(evaluation_id) as evaluation_id,
        max(judge) as judge
    from staging.stg_criteria
    group by run_id
),

spent as (
    select
        run_id,
        sum(requests)::bigint as requests,
        sum(reused)::bigint as reused,
        sum(failed)::bigint as failed,
        sum(input_tokens)::bigint as input_tokens,
        sum(output_tokens)::bigint as output_tokens,
        -- unknown where the price of one of its models is
        case when count(*) = count(cost_usd) then sum(cost_usd::decimal(38, 12))::double end as cost_usd
    from marts.costs
    group by run_id
)

select
    scenarios.run_id,
    coalesce(scenarios.kind, 'benchmark') as kind,
    scenarios.state,
    scenarios.scenario ->> 'name' as scenario,
    sha256(scenarios.scenario_resolved) as scenario_hash,
    coalesce(
        scenarios.scenario -> '$.scenario.models',
        scenarios.scenario -> '$.target.models',
        scenarios.scenario -> '$.interaction.models'
    )::varchar[] as models,
    case
        when evaluations.run_id is not null then evaluations.judge
        else coalesce(scenarios.scenario ->> '$.scenario.judge', scenarios.scenario ->> '$.redteam.judge')
    end as judge,
    coalesce(scenarios.scenario -> 'scenario', scenarios.scenario -> 'asking')::varchar as parameters,
    scenarios.seed,
    evaluations.evaluation_id,
    spent.requests,
    spent.reused,
    spent.failed,
    spent.input_tokens,
    spent.output_tokens,
    spent.cost_usd,
    scenarios.started_at,
    scenarios.ended_at
from scenarios
left join evaluations using (run_id)
left join spent using (run_id)
