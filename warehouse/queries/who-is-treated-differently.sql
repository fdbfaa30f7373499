-- About which communities do a model's replies fail more often than the others of the same concern do?
-- Expected-value tests only, in which each reply passes or fails by itself; a reply about two counts for both.
with replies as (
    select
        cases.model,
        cases.concern,
        cases.communities,
        verdicts.outcome = 'failed' as is_failed,
        count(*) over concern as all_replies,
        count(*) filter (where verdicts.outcome = 'failed') over concern as all_failed
    from staging.stg_cases as cases
    inner join staging.stg_verdicts as verdicts using (run_id, cell_id, case_id)
    where
        run_id = (
            select max(run_id) from staging.stg_verdicts where level = 'instance' and outcome in ('passed', 'failed')
        )
        and verdicts.level = 'instance'
        and verdicts.outcome in ('passed', 'failed')
        and len(cases.communities) > 0
    window concern as (partition by cases.model, cases.concern)
),

per_community as (
    select
        model,
        concern,
        unnest(list_distinct(communities)) as community,
        is_failed,
        all_replies,
        all_failed
    from replies
),

counted as (
    select
        model,
        concern,
        community,
        count(*) as replies,
        count(*) filter (where is_failed) as failed,
        any_value(all_replies) - count(*) as other_replies,
        any_value(all_failed) - count(*) filter (where is_failed) as other_failed
    from per_community
    group by model, concern, community
)

select
    model,
    concern,
    community,
    replies,
    round(100 * failed / replies, 1) as failed_percent,
    round(100 * other_failed / other_replies, 1) as others_failed_percent,
    round(100 * (failed / replies - other_failed / other_replies), 1) as difference
from counted
where other_replies > 0
order by abs(difference) desc, model, concern, community
limit 20;
