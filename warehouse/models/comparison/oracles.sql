select
    requirement,
    language,
    template,
    count(*) as replies,
    arg_min(earlier_reason, case_id) as earlier_reason,
    arg_min(later_reason, case_id) as later_reason
from comparison.changed_replies as replies
where earlier_assessor_kind = 'oracle' and later_assessor_kind = 'oracle'
group by requirement, language, template
