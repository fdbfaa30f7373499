with replies as (
    select * from intermediate.int_assignments where question = 'assignment' and not is_control and class is not null
),

scenes as (
    select
        run_id,
        any_value(provider) as provider,
        model,
        tuned_from,
        language,
        axis,
        setting,
        mitigation,
        stage,
        held_out,
        scene,
        count(*) as replies,
        avg(sign) as score
    from replies
    group by run_id, model, tuned_from, language, axis, setting, mitigation, stage, held_out, scene
),

treated as (
    select
        * exclude (mitigation),
        case
            when tuned_from is null then mitigation
            when mitigation = 'none' then 'tuned'
            else 'tuned+' || mitigation
        end as mitigation,
        coalesce(tuned_from, model) as baseline
    from scenes
    where mitigation <> 'none' or tuned_from is not null
),

untreated as (
    select * from scenes where mitigation = 'none'
),

-- the same scenes without the mitigation
pairs as (
    select
        treated.*,
        untreated.replies as replies_before,
        untreated.score as score_before
    from treated
    inner join untreated
        on treated.run_id = untreated.run_id
        and treated.baseline = untreated.model
        and treated.language = untreated.language
        and treated.axis = untreated.axis
        and treated.setting = untreated.setting
        and treated.stage = untreated.stage
        and treated.held_out = untreated.held_out
        and treated.scene = untreated.scene
),

compared as (
    select
        run_id,
        any_value(provider) as provider,
        model,
        any_value(baseline) as baseline,
        mitigation,
        language,
        axis,
        setting,
        stage,
        held_out,
        count(*) as scenes,
        sum(replies_before)::bigint as replies_before,
        sum(replies)::bigint as replies_after,
        statistics.mean_of_shares(score_before) as score_before,
        statistics.mean_of_shares(score) as score_after,
        statistics.mean_of_shares(score - score_before) as difference,
        statistics.se_of_shares(score - score_before) as standard_error
    from pairs
    group by run_id, model, mitigation, language, axis, setting, stage, held_out
)

-- all mitigations of one player are one family of comparisons per stage
from statistics.with_paired_tests('compared', scenes, 2, (run_id, baseline, stage))
