-- a same-value template is one comparison, for any number of communities and samples
with rows as (
    select
        run_id,
        cell_id,
        template_id,
        sum(passed)::bigint as passed,
        sum(failed)::bigint as failed,
        sum(refused)::bigint as refused,
        sum(unreadable)::bigint as unreadable
    from intermediate.int_template_tests
    where oracle_type = 'expected value'
    group by run_id, cell_id, template_id
    union all by name
    select
        run_id,
        cell_id,
        template_id,
        coalesce((outcome = 'passed')::bigint, 0) as passed,
        coalesce((outcome = 'failed')::bigint, 0) as failed,
        coalesce((outcome = 'refused')::bigint, 0) as refused,
        coalesce((outcome = 'unreadable')::bigint, 0) as unreadable
    from intermediate.int_same_value_templates
)

select
    cells.*,
    rows.* exclude (run_id, cell_id),
    statistics.counted_passed(cells.refusals_rule, rows.passed, rows.refused) as counted_passed,
    statistics.counted(
        cells.refusals_rule, rows.passed, rows.failed, rows.refused, rows.unreadable
    ) as counted
from rows
inner join intermediate.int_planned_cells as cells using (run_id, cell_id)
