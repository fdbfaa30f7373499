-- Which requirements does which model not meet, how far is it from them, and in how many of their cells?
select
    requirement,
    model,
    point_finding,
    round(100 * rate, 1) as passed_percent,
    round(100 * tolerance, 1) as needed_percent,
    cells_met,
    cells
from marts.requirement_findings
where run_id = (select max(run_id) from marts.requirement_findings)
order by point_finding = 'met', point_finding = 'not evaluated', rate, requirement, model;
