with sides as (
    from statistics.sides('marts.language_findings', {'requirement': requirement, 'model': model, 'language': language})
),

-- each requirement has one test per language
tested as (
    select * from comparison.tests where language is not null
    union all by name
    select
        tests.* exclude (language),
        paired.language
    from comparison.tests
    inner join marts.paired_differences as paired using (requirement, model)
    where tests.language is null and paired.language is not null
    qualify count(*) over (partition by requirement, model) = 1
)

select
    sides.* exclude (earlier_rate, later_rate),
    tested.* exclude (requirement, model, language, change),
    sides.earlier_rate as earlier_whole_rate,
    sides.later_rate as later_whole_rate,
    coalesce(tested.change, 'not compared') as change
from sides
left join tested using (requirement, model, language)
