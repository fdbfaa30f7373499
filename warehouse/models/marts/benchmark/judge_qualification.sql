with figures as (
    from intermediate.int_judge_figures
),

-- replies whose verdict would be the judge's: those that an oracle failed or could not read
asked as (
    select
        assessments.run_id,
        assessments.evaluation_id,
        assessments.assessor as judge,
        cells.language,
        count(*) as asked_replies,
        count(*) filter (where assessments.state = 'given') as judged_replies,
        count(*) filter (where assessments.outcome <> assessments.stratum) as overturned
    from staging.stg_assessments as assessments
    inner join intermediate.int_planned_cells as cells using (run_id, cell_id)
    where
        assessments.purpose = 'blind'
        and assessments.assessor_kind = 'model'
        and assessments.stratum in ('failed', 'unreadable')
    group by all
),

rules as (
    select
        run_id,
        any_value(judge_floor) as judge_floor
    from staging.stg_criteria as criteria
    where judge_overrules
    group by run_id
)

select
    run_id,
    evaluation_id,
    judge,
    language,
    rules.judge_floor,
    coalesce(figures.controls, 0) as controls,
    coalesce(figures.controls_decided, 0) as controls_decided,
    statistics.least_controls() as controls_needed,
    coalesce(figures.readings, 0) as readings,
    coalesce(figures.refused, 0) as refused,
    coalesce(figures.unreadable, 0) as unreadable,
    coalesce(figures.failed, 0) as failed,
    figures.sensitivity,
    figures.sensitivity_rows,
    figures.specificity,
    figures.specificity_rows,
    coalesce(figures.read_twice, 0) as read_twice,
    figures.flicker,
    coalesce(figures.qualifies, false) as qualifies,
    coalesce(asked.asked_replies, 0) as asked_replies,
    coalesce(asked.judged_replies, 0) as judged_replies,
    coalesce(asked.overturned, 0) as overturned
from figures
full join asked using (run_id, evaluation_id, judge, language)
inner join rules using (run_id)
