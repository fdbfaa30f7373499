with languages as (
    select
        requirement,
        model,
        count(language) as languages
    from marts.paired_differences as differences
    group by requirement, model
),

-- with one language, its test is that of all
tests as (
    select differences.*
    from marts.paired_differences as differences
    inner join languages using (requirement, model)
    where language is null or languages.languages > 1
),

estimated as (
    select
        *,
        statistics.bounded_interval(difference, standard_error, templates, -1, 1) as of_difference
    from tests
),

adjusted as (
    from statistics.with_q_values('estimated', p_value, 'all of them')
)

select
    *,
    rate as later_rate,
    of_difference.low as low,
    of_difference.high as high,
    only_now as only_later,
    statistics.change(difference, q_value, least_drop := least_drop) as change
from adjusted
