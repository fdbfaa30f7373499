"""Reports of interactions."""

from __future__ import annotations

from typing import Final

from biasgrid.catalogs.choices import Mitigation, Setting
from biasgrid.tasks.report.findings import MITIGATIONS, SETTINGS, STAGES
from biasgrid.tasks.report.kinds.report_kind import ReportKind

CHECKS: Final = f"""
    select
        model,
        axis as topic,
        concat_ws(
            ' · ',
            axis,
            setting,
            nullif(mitigation, 'none'),
            nullif(stage, 'only'),
            case when held_out then 'held out' end
        ) as name,
        language,
        state as by_point,
        state as decided,
        decision as finding,
        stereotypical as counted,
        classed as total,
        'assignments with the stereotypes' as counts,
        'bias score' as measure,
        'score' as unit,
        bias_score as value,
        low,
        high,
        expected_score as bar,
        'by chance' as bar_name,
        struct_pack(
            shared := shared, unassigned := unassigned, invented := invented, refused := refused,
            unreadable := unreadable, failed := errors
        ) as lost,
        null::bigint as needed,
        bound,
        upper_end
    from marts.bias_scores
    where run_id = ? and domain = 'all' and not is_control
    order by
        model,
        language,
        axis,
        {SETTINGS},
        {MITIGATIONS},
        {STAGES},
        held_out
"""  # noqa: S608 - words of ours
EXAMPLES: Final = """
    select
        scores.model,
        concat_ws(
            ' · ', scores.axis, scores.setting, nullif(scores.mitigation, 'none'), nullif(scores.stage, 'only'),
            case when scores.held_out then 'held out' end
        ) as "check",
        assignments.play_id as template,
        concat(assignments.scene, '. ', given.tasks) as question,
        replies.text,
        assignments.speaker as about,
        coalesce(assignments.reason, assignments.outcome) as reason
    from marts.bias_scores as scores
    inner join intermediate.int_assignments as assignments
        using (run_id, model, language, axis, setting, mitigation, stage, held_out, is_control)
    inner join staging.stg_responses as replies using (run_id, response_id)
    left join (
        select run_id, play_id, reply, string_agg(concat(assigned_group, ': ', tasks), '; ') as tasks
        from (
            select run_id, play_id, reply, assigned_group, string_agg(task, ', ' order by task_number) as tasks
            from marts.assignments
            where status = 'assigned' and assigned_group is not null
            group by run_id, play_id, reply, assigned_group
            order by assigned_group
        )
        group by run_id, play_id, reply
    ) as given using (run_id, play_id, reply)
    where
        scores.run_id = ? and scores.state = 'not met' and scores.domain = 'all' and not scores.is_control
        and starts_with(assignments.outcome, 'anti') = (scores.bias_score < scores.expected_score)
        and ends_with(assignments.outcome, 'stereotypical')
    qualify
        row_number() over (
            partition by
                scores.model, scores.language, scores.axis, scores.setting, scores.mitigation, scores.stage,
                scores.held_out
            order by assignments.play_id, assignments.reply
        ) = 1
    order by abs(scores.bias_score - scores.expected_score) desc, scores.model, "check"
"""
FINDINGS: Final = """
    select
        model,
        concat_ws(', ', axis, domain, setting, mitigation, stage, if(is_control, 'control', null)) as what,
        language, 'bias score' as measure, bias_score as value, low, high, expected_score as against,
        decision as finding, null as by_point
    from marts.bias_scores
    where run_id = $1
"""
CELLS: Final = """
    select
        'assignments' as unit, model, domain as requirement, axis as concern, language, setting as input,
        mitigation || ', ' || stage as reflection, replies as planned, refused, unreadable, errors,
        shared + unassigned + invented as other, scenes as templates,
        if(is_control, 'control', decision) as finding, null::double as limit, null::bigint as needed
    from marts.bias_scores
    where run_id = $1 and domain <> 'all'
    union all
    select
        'choices', model, scene, axis, language, setting, mitigation || ', ' || stage, replies, refused,
        unreadable, errors, no_one_chosen, 1,
        if(first_chosen + second_chosen = 0, 'not evaluated', 'counted'), null, null
    from marts.choices
    where run_id = $1
    union all
    select
        'answers on understanding', model, null, null, language, 'understanding', null, replies, refused,
        unreadable, errors, 0, scenes, if(accuracy is null, 'not evaluated', 'counted'), null, null
    from marts.understanding
    where run_id = $1
    order by all
"""
RATES: Final = """
    with plays as (
        select model, language, scene, setting, mitigation,
            max(first_people) as first_people, max(second_people) as second_people
        from intermediate.int_interaction_plays
        where run_id = $1 and question = 'choice'
        group by all
    )

    select
        'selection' as rate_of, model, language, concat_ws(', ', scene, setting, mitigation, stage, task) as what,
        unnest([first_group, second_group]) as category,
        (first_chosen + second_chosen) * unnest([first_people, second_people]) as people,
        unnest([first_chosen, second_chosen]) as chosen
    from marts.choices
    inner join plays using (model, language, scene, setting, mitigation)
    where run_id = $1 and not is_control
"""
HARMS: Final = """
    select
        tasks.model,
        tasks.stereotype,
        round(100 * avg(tasks.follows_stereotype::int)) as amount,
        null as other
    from marts.assignments as tasks
    semi join (
        select * from marts.bias_scores where state = 'not met' and domain = 'all' and not is_control
    ) as scores using (run_id, model, language, axis, setting, mitigation, stage, held_out, is_control)
    where run_id = ? and tasks.status = 'assigned' and tasks.stereotype is not null
    group by tasks.model, tasks.stereotype
    order by tasks.model, amount desc, tasks.stereotype
"""
"""How often the tasks that stereotypes give a group went to it."""
REPORT: Final = ReportKind(
    title="Bias scores",
    marks=[
        ("not shown", "good", "circle"),
        ("biased", "bad", "triangle-up"),
        ("anti-biased", "doubt", "triangle-down"),
    ],
    # all but the assignments task by task
    tables=(
        *("bias_scores", "escalation", "self_corrections", "mitigations", "understanding", "choices"),
        "costs",
    ),
    checks=CHECKS,
    examples=EXAMPLES,
    harms=HARMS,
    findings=FINDINGS,
    cells=CELLS,
    rates=RATES,
    names=("domain", "setting", "mitigation"),
    groups="people",
    inputs=Setting,
    reflections=Mitigation,
    parts={
        "tested": ("axis", "domain", "setting", "mitigation", "stage", "finding"),
        "chosen": ("", "setting", "mitigation", "stage", ""),
        "requirement": ("domain",),
        "concern": ("axis",),
        "input": ("setting",),
        "reflection": ("mitigation", "stage"),
    },
)
