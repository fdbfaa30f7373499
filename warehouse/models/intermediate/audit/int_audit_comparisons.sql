select
    run_id,
    comparison_id,
    any_value(concern) as concern,
    any_value(axis) as axis,
    any_value(provider) as provider,
    any_value(model) as model,
    any_value(language) as language,
    any_value(design) as design,
    any_value(signal) as signal,
    any_value(identity_group) as identity_group,
    any_value(reference) as reference,
    any_value(decision) as decision,
    count(*) as planned,
    count(difference) as pairs,
    count(*) filter (where errors > 0) as errors,
    count(*) filter (where difference > 0) as more,
    count(*) filter (where difference < 0) as less,
    statistics.mean_of_shares(if(difference is not null, points, null)) as points,
    statistics.mean_of_shares(if(difference is not null, reference_points, null)) as reference_points,
    sum(unread) / nullif(sum(repeats), 0) as unread_share,
    sum(reference_unread) / nullif(sum(reference_repeats), 0) as reference_unread_share
from intermediate.int_decision_pairs
group by run_id, comparison_id
