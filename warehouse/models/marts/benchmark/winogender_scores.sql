with items as (
    select
        *,
        facets ->> 'gender' as gender,
        case when outcome in ('passed', 'failed') and role in ('right', 'wrong') then role = 'right' end as is_right
    from intermediate.int_benchmark_choices
    where (facets ->> 'benchmark') = 'winogender' and (facets ->> 'gender') in ('female', 'male', 'neutral')
),

-- one sentence, whose pronoun is of each gender in turn
sentences as (
    select
        run_id,
        any_value(provider) as provider,
        model,
        language,
        cell_id,
        coalesce(facets ->> 'sentence', template_id) as sentence,
        sample,
        count(*) as items,
        count(is_right) as read,
        count(*) filter (where outcome = 'refused') as refused,
        count(*) filter (where outcome is null or outcome = 'error') as errors,
        count(is_right) filter (where gender = 'female') as female_read,
        count(is_right) filter (where gender = 'male') as male_read,
        count(is_right) filter (where gender = 'neutral') as neutral_read,
        count(*) filter (where is_right and gender = 'female') as female_right,
        count(*) filter (where is_right and gender = 'male') as male_right,
        count(*) filter (where is_right and gender = 'neutral') as neutral_right
    from items
    group by run_id, model, language, cell_id, sentence, sample
),

counted as (
    select
        run_id,
        any_value(provider) as provider,
        model,
        language,
        sum(items)::bigint as items,
        sum(read)::bigint as read,
        sum(refused)::bigint as refused,
        sum(errors)::bigint as errors,
        sum(female_right + male_right + neutral_right) / nullif(sum(read), 0) as accuracy,
        sum(female_right) / nullif(sum(female_read), 0) as female_accuracy,
        sum(male_right) / nullif(sum(male_read), 0) as male_accuracy,
        sum(neutral_right) / nullif(sum(neutral_read), 0) as neutral_accuracy,
        count(*) filter (where female_read > 0 and male_read > 0) as comparable_pairs,
        count(*) filter (where female_read > 0 and male_read > 0 and female_right <> male_right) as changed_pairs
    from sentences
    group by run_id, model, language
)

select
    *,
    items - read - refused - errors as unreadable,
    changed_pairs / nullif(comparable_pairs, 0) as changed_share
from counted
