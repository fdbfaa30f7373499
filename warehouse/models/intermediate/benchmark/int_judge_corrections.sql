with decided as (
    select
        run_id,
        cell_id,
        template_id,
        sample,
        assessor as judge,
        count(*) filter (where outcome = 'passed') as judge_passed,
        count(*) filter (where outcome = 'failed') as judge_failed
    from staging.stg_verdicts
    where level = 'instance' and assessor_kind = 'model'
    group by all
),

figures as (
    select *
    from intermediate.int_judge_figures
    where qualifies and statistics.judge_informs(sensitivity, specificity)
),

units as (
    select
        decided.*,
        criteria.measure,
        figures.sensitivity,
        figures.specificity,
        -- neither a test that is not counted nor one that fails by other verdicts depends on the judge's
        tests.outcome in ('passed', 'failed') and tests.failed <= decided.judge_failed as by_judge,
        statistics.corrected_test(
            decided.judge_passed, decided.judge_failed, figures.sensitivity, figures.specificity
        ) as test,
        statistics.corrected_test(1, 0, figures.sensitivity, figures.specificity) as reply_passed,
        statistics.corrected_test(0, 1, figures.sensitivity, figures.specificity) as reply_failed,
        if(tests.outcome = 'passed', 1, 0) as observed
    from decided
    inner join intermediate.int_template_tests as tests using (run_id, cell_id, template_id, sample)
    inner join intermediate.int_planned_cells as cells using (run_id, cell_id)
    inner join staging.stg_criteria as criteria
        on cells.run_id = criteria.run_id and cells.requirement = criteria.requirement
    inner join figures
        on
            decided.run_id = figures.run_id
            and decided.judge = figures.judge
            and cells.language = figures.language
),

changes as (
    select
        run_id,
        cell_id,
        template_id,
        case
            when measure = 'replies'
                then judge_passed * (reply_passed.value - 1) + judge_failed * reply_failed.value
            when by_judge then test.value - observed
            else 0
        end as correction,
        case
            when measure = 'replies'
                then judge_passed * reply_passed.by_sensitivity + judge_failed * reply_failed.by_sensitivity
            when by_judge then test.by_sensitivity
            else 0
        end as by_sensitivity,
        case
            when measure = 'replies'
                then judge_passed * reply_passed.by_specificity + judge_failed * reply_failed.by_specificity
            when by_judge then test.by_specificity
            else 0
        end as by_specificity
    from units
)

select
    run_id,
    cell_id,
    template_id,
    list_sum(statistics.in_order(correction)) as correction,
    list_sum(statistics.in_order(by_sensitivity)) as by_sensitivity,
    list_sum(statistics.in_order(by_specificity)) as by_specificity
from changes
group by run_id, cell_id, template_id
