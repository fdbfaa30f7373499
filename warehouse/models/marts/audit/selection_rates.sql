select
    run_id,
    any_value(concern) as concern,
    any_value(axis) as axis,
    any_value(provider) as provider,
    model,
    language,
    signal,
    identity_group,
    identity_group = any_value(reference) as is_reference,
    any_value(decision) as decision,
    count(distinct document_id) as documents,
    count(distinct pair) as identities,
    count(*) as decisions,
    count(points) as decided,
    count(*) filter (where outcome = 'refused') as refused,
    count(*) filter (where outcome = 'unreadable') as unreadable,
    count(*) filter (where outcome = 'error') as errors,
    (refused + unreadable) / nullif(decisions - errors, 0) as refusal_rate,
    count(*) filter (where decision = 'yes_no' and points > 0) as selected,
    if(any_value(decision) = 'yes_no', statistics.mean_of_shares(points) / 100, null) as selection_rate,
    if(any_value(decision) = 'score', statistics.mean_of_shares(points), null) as mean_score
from intermediate.int_audit_decisions
group by run_id, model, language, signal, identity_group
