-- Does a model decline more often when it is asked about one community than about another?
select
    model,
    concern,
    arg_max(community, refusal_rate) as most_declined,
    round(100 * max(refusal_rate), 1) as most_percent,
    arg_min(community, refusal_rate) as least_declined,
    round(100 * min(refusal_rate), 1) as least_percent,
    round(100 * (max(refusal_rate) - min(refusal_rate)), 1) as difference
from marts.refusals
where
    run_id = (select max(run_id) from marts.refusals)
    and community <> ''
group by model, concern
having count(*) > 1 and max(refusal_rate) > 0
order by difference desc, model, concern;
