-- Where did a probe learn little, and why: refusals, everybody given the same, replies that could not be read?
select
    model,
    language,
    test,
    sum(trials) as trials,
    round(100 * sum(compared) / sum(trials), 1) as compared_percent,
    sum(refused) as refused,
    sum(one_sided) as one_sided,
    sum(unreadable) as unreadable,
    sum(errors) as without_a_reply
from marts.probe_findings
where run_id = (select max(run_id) from marts.probe_findings)
group by model, language, test
order by compared_percent, model, language, test;
