with replies as (
    select * from intermediate.int_assignments where question = 'assignment' and not is_control and class is not null
),

-- the first answer of one speaker of a play, and the answer after reflection
pairs as (
    select
        earlier.*,
        earlier.class = 'stereotypical' as was_stereotypical,
        reflected.class = 'stereotypical' as is_stereotypical
    from replies as earlier
    inner join replies as reflected using (run_id, cell_id, play_id, speaker)
    where earlier.stage = 'first' and reflected.stage = 'reflected'
),

scenes as (
    select
        run_id,
        any_value(provider) as provider,
        model,
        language,
        axis,
        setting,
        mitigation,
        held_out,
        scene,
        -- null, not 0: a scene without any is not a cluster
        nullif(count(*) filter (where was_stereotypical), 0) as stereotypical,
        count(*) filter (where was_stereotypical and not is_stereotypical) as corrected,
        nullif(count(*) filter (where not was_stereotypical), 0) as others,
        count(*) filter (where not was_stereotypical and is_stereotypical) as newly_stereotypical
    from pairs
    group by run_id, model, language, axis, setting, mitigation, held_out, scene
),

counted as (
    select
        run_id,
        any_value(provider) as provider,
        model,
        language,
        axis,
        setting,
        mitigation,
        held_out,
        count(*) as scenes,
        count(stereotypical) as stereotypical_scenes,
        coalesce(sum(stereotypical), 0)::bigint as stereotypical,
        sum(corrected)::bigint as corrected,
        statistics.row_rate(corrected, stereotypical) as self_correction_rate,
        statistics.row_rate_se(corrected, stereotypical) as standard_error,
        count(others) as other_scenes,
        coalesce(sum(others), 0)::bigint as others,
        sum(newly_stereotypical)::bigint as newly_stereotypical,
        statistics.row_rate(newly_stereotypical, others) as newly_stereotypical_rate,
        statistics.row_rate_se(newly_stereotypical, others) as newly_standard_error
    from scenes
    group by run_id, model, language, axis, setting, mitigation, held_out
),

estimated as (
    select
        *,
        statistics.interval(self_correction_rate, standard_error, stereotypical_scenes, stereotypical) as corrected_,
        statistics.interval(newly_stereotypical_rate, newly_standard_error, other_scenes, others) as newly_
    from counted
)

select
    *,
    stereotypical + others as pairs,
    corrected_.low as low,
    corrected_.high as high,
    newly_.low as newly_low,
    newly_.high as newly_high
from estimated
