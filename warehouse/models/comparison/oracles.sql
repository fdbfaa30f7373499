with replies as (
    select * from comparison.changed_replies
),

final as (
    select
        requirement,
        language,
        template,
        count(*) as replies,
        arg_min(earlier_reason, case_id) as earlier_reason,
        arg_min(later_reason, case_id) as later_reason
    from replies
    where earlier_assessor_kind = 'oracle' and later_assessor_kind = 'oracle'
    group by requirement, language, template
)

select * from final
