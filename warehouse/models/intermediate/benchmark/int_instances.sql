-- an instance is identified by its text: the same text has the same communities in every plan
select
    hash(instance_id) as instance_key,
    instance_id,
    any_value(communities) as communities,
    any_value(communities_label) as communities_label
from staging.stg_cases
group by instance_id
