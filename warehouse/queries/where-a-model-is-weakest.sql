-- In which cells of the grid does each model pass least? The three weakest, of those that could be evaluated.
select
    model,
    concern,
    language,
    input,
    reflection,
    tests,
    round(100 * rate, 1) as passed_percent
from marts.pass_rates
where
    run_id = (select max(run_id) from marts.pass_rates)
    and point_finding <> 'not evaluated'
qualify row_number() over (partition by model order by rate, cell_id) <= 3
order by model, rate, cell_id;
