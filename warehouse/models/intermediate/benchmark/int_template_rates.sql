-- a same-value template is one comparison, for any number of communities and samples
with same_value as (
    select
        run_id,
        cell_id,
        template_id,
        coalesce((outcome = 'passed')::bigint, 0) as passed,
        coalesce((outcome = 'failed')::bigint, 0) as failed,
        coalesce((outcome = 'refused')::bigint, 0) as refused,
        coalesce((outcome = 'unreadable')::bigint, 0) as unreadable
    from intermediate.int_same_value_templates
),

rows as (
    select
        run_id,
        cell_id,
        template_id,
        {
            'passed': sum(passed)::bigint,
            'failed': sum(failed)::bigint,
            'refused': sum(refused)::bigint,
            'unreadable': sum(unreadable)::bigint
        } as replies,
        {
            'passed': count(*) filter (where outcome = 'passed'),
            'failed': count(*) filter (where outcome = 'failed'),
            'refused': count(*) filter (where outcome = 'refused'),
            'unreadable': count(*) filter (where outcome = 'unreadable')
        } as tests
    from intermediate.int_template_tests
    where oracle_type = 'expected value'
    group by run_id, cell_id, template_id
    union all by name
    select
        run_id,
        cell_id,
        template_id,
        {'passed': passed, 'failed': failed, 'refused': refused, 'unreadable': unreadable} as replies,
        replies as tests
    from same_value
),

measured as (
    select
        cells.*,
        templates.template_id,
        templates.cluster,
        rows.replies,
        if(cells.measure = 'replies', rows.replies, rows.tests) as units
    from rows
    inner join intermediate.int_templates as templates using (run_id, cell_id, template_id)
    inner join intermediate.int_planned_cells as cells using (run_id, cell_id)
)

select
    * exclude (replies, units),
    unnest(replies),
    statistics.counted_passed(refusals_rule, replies.passed, replies.refused) as counted_passed,
    statistics.counted(
        refusals_rule, replies.passed, replies.failed, replies.refused, replies.unreadable
    ) as counted,
    statistics.counted_passed(refusals_rule, units.passed, units.refused) as measured_passed,
    statistics.counted(refusals_rule, units.passed, units.failed, units.refused, units.unreadable) as measured
from measured
