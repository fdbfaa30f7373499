-- half-way between the tolerance and each end of the scale: for .9, rates of .95 and .85
with planned as (
    select
        pass_rates.*,
        cells.templates_if_perfect,
        measured / nullif(counted_templates, 0) as measured_per_template,
        least(1, greatest(0, coalesce(correlation, 1))) as assumed_correlation,
        pass_rates.tolerance + least(pass_rates.tolerance, 1 - pass_rates.tolerance) / 2 as better_rate,
        pass_rates.tolerance - least(pass_rates.tolerance, 1 - pass_rates.tolerance) / 2 as worse_rate
    from marts.pass_rates
    inner join intermediate.int_planned_cells as cells using (run_id, cell_id)
),

needed as (
    select
        *,
        ceil(statistics.templates_for_power(
            tolerance, better_rate, measured_per_template, assumed_correlation
        ))::bigint as templates_if_better,
        ceil(statistics.templates_for_power(
            tolerance, worse_rate, measured_per_template, assumed_correlation
        ))::bigint as templates_if_worse
    from planned
)

select
    * replace (
        counted_templates as templates,
        greatest(templates_if_better, templates_if_perfect) as templates_if_better
    ),
    counted_templates >= greatest(templates_if_better, templates_if_worse, templates_if_perfect) as has_power
from needed
