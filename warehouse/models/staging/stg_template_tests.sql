with cases as (
    select * from staging.stg_cases
),

instance_verdicts as (
    select * from staging.stg_verdicts where level = 'instance'
),

template_verdicts as (
    select * from staging.stg_verdicts where level = 'template'
),

same_value_tests as (
    select * from staging.stg_same_value_tests
),

asked as (
    select
        run_id,
        cell_id,
        template_id,
        sample,
        any_value(oracle_type) as oracle_type,
        count(*) as instances
    from cases
    group by run_id, cell_id, template_id, sample
),

-- no verdict is without its case: counted apart, millions of them need no joining
judged as (
    select
        run_id,
        cell_id,
        template_id,
        sample,
        count(*) as judged,
        -- a same-value reply that was read has no outcome: only its template can pass
        count(*) filter (where outcome = 'passed') as passed,
        count(*) filter (where outcome = 'failed') as failed,
        count(*) filter (where outcome = 'refused') as refused,
        count(*) filter (where outcome = 'unreadable') as unreadable,
        count(*) filter (where outcome = 'error') as errors
    from instance_verdicts
    group by run_id, cell_id, template_id, sample
),

planned as (
    select
        run_id,
        cell_id,
        template_id,
        sample,
        asked.oracle_type,
        asked.instances,
        coalesce(judged.judged, 0) as judged,
        coalesce(judged.passed, 0) as passed,
        coalesce(judged.failed, 0) as failed,
        coalesce(judged.refused, 0) as refused,
        coalesce(judged.unreadable, 0) as unreadable,
        coalesce(judged.errors, 0) + asked.instances - coalesce(judged.judged, 0) as errors
    from asked
    left join judged using (run_id, cell_id, template_id, sample)
),

with_outcome as (
    select
        planned.*,
        if(planned.oracle_type = 'same value', same_value_tests.outcome, template_verdicts.outcome) as outcome
    from planned
    left join same_value_tests using (run_id, cell_id, template_id, sample)
    left join template_verdicts using (run_id, cell_id, template_id, sample)
),

final as (
    select
        run_id,
        cell_id,
        template_id,
        oracle_type,
        sample,
        instances,
        judged,
        passed,
        failed,
        refused,
        unreadable,
        errors,
        outcome,
        -- LangBiTe: a refusal that matches no expected value fails its test; one among numbers drops it
        case
            when outcome is null then null
            when oracle_type = 'same value' and refused + unreadable + errors > 0 then 'error'
            -- LangBiTe: one number alone has no spread
            when outcome = 'incomparable' then 'passed'
            when oracle_type = 'same value' then outcome
            when failed + refused + unreadable > 0 then 'failed'
            when errors > 0 then 'error'
            else 'passed'
        end as langbite_outcome
    from with_outcome
)

select * from final
