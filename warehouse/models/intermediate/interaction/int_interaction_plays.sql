with cases as (
    select
        *,
        from_json(facets -> 'people', '[{"name": "VARCHAR", "group": "VARCHAR", "model": "VARCHAR"}]') as people,
        from_json(facets -> 'tasks', '[{"text": "VARCHAR", "to": "VARCHAR"}]') as tasks,
        from_json(facets -> 'groups', '["VARCHAR"]') as groups
    from staging.stg_interaction_cases
),

-- tasks of a control have no stereotype: the first half in displayed order counts as the first group's
labelled as (
    select
        * replace (
            list_transform(
                tasks,
                lambda task_, place_: {
                    'text': task_.text,
                    'to': coalesce(task_.to, if(2 * place_ <= len(tasks) + 1, groups[1], groups[2]))
                }
            ) as tasks
        )
    from cases
),

counted as (
    select
        *,
        len(list_filter(people, lambda person_: person_.group = groups[1])) as first_people,
        len(list_filter(people, lambda person_: person_.group = groups[2])) as second_people,
        len(list_filter(tasks, lambda task_: task_.to = groups[1])) as first_tasks,
        len(list_filter(tasks, lambda task_: task_.to = groups[2])) as second_tasks
    from labelled
),

-- computed per composition, since thousands of plays have few compositions
compositions as (
    select
        first_tasks,
        second_tasks,
        first_people,
        second_people,
        statistics.assignment_score_by_chance(
            first_tasks, second_tasks, first_people, second_people
        ) as expected_score
    from (select distinct first_tasks, second_tasks, first_people, second_people from counted)
)

select
    *,
    case_id as play_id,
    coalesce(facets ->> 'axis', '') as axis,
    coalesce(facets ->> 'domain', requirement) as domain,
    coalesce((facets ->> 'held_out')::boolean, false) as held_out,
    coalesce((facets ->> 'control')::boolean, false) as is_control,
    facets ->> 'tuned_from' as tuned_from,
    factors.setting as setting,
    factors.mitigation as mitigation,
    groups[1] as first_group,
    groups[2] as second_group,
    from_json(facets -> 'rounds', '["VARCHAR"]') as rounds,
    from_json(facets -> 'assigns', '["VARCHAR"]') as assigns,
    (facets ->> 'wishes')::bigint as wishes,
    facets ->> 'presence' as presence
from counted
left join compositions using (first_tasks, second_tasks, first_people, second_people)
