with cases as not materialized (
    select * from staging.stg_cases
),

verdicts as not materialized (
    select * from staging.stg_verdicts where level = 'instance'
),

planned as (
    select
        run_id,
        cell_id,
        count(*) as cases
    from cases
    group by run_id, cell_id
),

judged as (
    select
        run_id,
        cell_id,
        count(*) as verdicts
    from verdicts
    group by run_id, cell_id
),

unfinished as (
    select
        run_id,
        cell_id,
        true as is_unfinished
    from planned
    left join judged using (run_id, cell_id)
    where verdicts is distinct from cases
),

-- in a cell that is judged as a whole most verdicts say that a reply is no refusal: those need no looking up
looked_up as (
    select
        run_id,
        cell_id,
        case_id,
        outcome,
        true as is_judged
    from verdicts
    left join unfinished using (run_id, cell_id)
    where outcome in ('refused', 'error') or is_unfinished
),

replies as (
    select
        run_id,
        provider,
        model,
        concern,
        communities,
        count(*) as replies,
        count(*) filter (where outcome = 'refused') as refused
    from cases
    left join unfinished using (run_id, cell_id)
    left join looked_up using (run_id, cell_id, case_id)
    where outcome is distinct from 'error' and (is_judged or is_unfinished is null)
    group by run_id, provider, model, concern, communities
),

-- a reply about two communities counts for both; a prompt without any, for none by name
per_community as (
    select
        * exclude (communities),
        unnest(if(len(communities) > 0, list_distinct(communities), [''])) as community
    from replies
),

final as (
    select
        run_id,
        provider,
        model,
        concern,
        community,
        sum(replies)::bigint as replies,
        sum(refused)::bigint as refused,
        sum(refused) / sum(replies) as refusal_rate
    from per_community
    group by run_id, provider, model, concern, community
)

select * from final
