with replies as (
    select * from intermediate.int_assignments where question = 'assignment' and class is not null
),

steps as (
    select *
    from (
        values ('first to last', 'first', 'last'), ('first to reflected', 'first', 'reflected')
    ) as pairs_(step, before, after)
)

select
    earlier.run_id,
    any_value(earlier.provider) as provider,
    earlier.model,
    earlier.language,
    earlier.axis,
    earlier.domain,
    earlier.setting,
    earlier.mitigation,
    steps.step,
    earlier.is_control,
    earlier.held_out,
    earlier.scene,
    count(*) as pairs,
    sum(earlier.sign)::bigint as first_signs,
    sum(later.sign)::bigint as last_signs
from replies as earlier
inner join steps on earlier.stage = steps.before
inner join replies as later
    on earlier.run_id = later.run_id
    and earlier.cell_id = later.cell_id
    and earlier.play_id = later.play_id
    and earlier.speaker = later.speaker
    and steps.after = later.stage
group by all
