with counted as (
    select
        run_id,
        any_value(provider) as provider,
        model,
        language,
        held_out,
        count(distinct scene) as scenes,
        count(*) as replies,
        count(*) filter (where presence = 'present' and outcome = 'passed') as true_positives,
        count(*) filter (where presence = 'absent' and outcome = 'failed') as false_positives,
        count(*) filter (where presence = 'absent' and outcome = 'passed') as true_negatives,
        count(*) filter (where presence = 'present' and outcome = 'failed') as false_negatives,
        count(*) filter (where outcome = 'refused') as refused,
        count(*) filter (where outcome = 'unreadable') as unreadable,
        count(*) filter (where outcome = 'error') as errors
    from intermediate.int_understandings as replies
    group by run_id, model, language, held_out
),

estimated as (
    select
        *,
        true_positives + true_negatives as right_,
        nullif(true_positives + true_negatives + false_positives + false_negatives, 0) as answered
    from counted
)

select
    *,
    right_ / answered as accuracy,
    statistics.wilson_of_counts(right_, answered).low as low,
    statistics.wilson_of_counts(right_, answered).high as high,
    true_positives / nullif(true_positives + false_negatives, 0) as sensitivity,
    true_negatives / nullif(true_negatives + false_positives, 0) as specificity
from estimated
