-- Which stereotypes does a model act on, and which of them does it deny when it is asked outright?
select
    acted.model,
    acted.language,
    acted.pair,
    acted.favoured_attribute,
    acted.stigmatised_attribute,
    acted.stereotypical || ' of ' || (acted.stereotypical + acted.counter) as with_the_stereotype,
    round(acted.q_value, 4) as q_value,
    coalesce(stated.finding, 'not asked') as when_asked
from marts.probe_findings as acted
left join marts.probe_findings as stated
    on acted.run_id = stated.run_id
    and acted.model = stated.model
    and acted.language = stated.language
    and acted.pair = stated.pair
    and stated.test = 'explicit'
where
    acted.run_id = (select max(run_id) from marts.probe_findings)
    and acted.test = 'implicit'
    and acted.finding = 'biased with the stereotype'
order by when_asked desc, acted.q_value, acted.model, acted.language, acted.pair;
