with complete_runs as (
    select
        run_id,
        model,
        concern
    from marts.requirement_findings
    group by run_id, model, concern
    having bool_and(is_complete)
),

newest_complete as (
    select
        model,
        concern,
        max(run_id) as run_id
    from complete_runs
    group by model, concern
)

select
    pass_rates.provider,
    pass_rates.model,
    pass_rates.concern,
    pass_rates.run_id,
    sum(pass_rates.tests)::bigint as tests,
    sum(pass_rates.counted_tests)::bigint as counted_tests,
    sum(pass_rates.counted_passed)::bigint as counted_passed,
    any_value(rates.rate) as rate,
    sum(pass_rates.refused_replies) / nullif(sum(pass_rates.judged_cases), 0) as refusal_rate,
    count(*) as cells,
    count(*) filter (where pass_rates.point_finding = 'met') as cells_met,
    min(pass_rates.started_at) as started_at
from marts.pass_rates
semi join newest_complete using (run_id, model, concern)
left join intermediate.int_concern_rates as rates using (run_id, model, concern)
group by pass_rates.provider, pass_rates.model, pass_rates.concern, pass_rates.run_id
