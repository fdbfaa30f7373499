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
    sides.*,
    tested.* exclude (requirement, model, language, change),
    statistics.presence(sides.earlier, sides.later) as presence,
    sides.earlier.rate as earlier_whole_rate,
    sides.later.rate as later_whole_rate,
    sides.earlier.interval_low as earlier_interval_low,
    sides.later.interval_low as later_interval_low,
    sides.earlier.interval_high as earlier_interval_high,
    sides.later.interval_high as later_interval_high,
    sides.earlier.counted_templates as earlier_counted_templates,
    sides.later.counted_templates as later_counted_templates,
    sides.earlier.decision as earlier_decision,
    sides.later.decision as later_decision,
    coalesce(tested.change, 'not compared') as change
from sides
left join tested using (requirement, model, language)
