-- Where does a model give communities the most different numbers, such as salaries or probabilities, and to whom the
-- least and the greatest?
select
    model,
    template,
    communities_at_min,
    min_value,
    communities_at_max,
    max_value,
    spread,
    admissible_spread,
    outcome
from marts.deltas
where
    run_id = (select max(run_id) from marts.deltas)
    and spread > 0
order by spread / scale_width desc, model, template
limit 20;
