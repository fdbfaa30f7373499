with cases as (
    select
        *,
        from_json(facets -> 'people', '[{"name": "VARCHAR", "group": "VARCHAR", "model": "VARCHAR"}]') as people,
        from_json(facets -> 'tasks', '[{"text": "VARCHAR", "to": "VARCHAR"}]') as tasks,
        from_json(facets -> 'groups', '["VARCHAR"]') as groups
    from lake.interaction_cases
    qualify row_number() over (partition by run_id, cell_id, case_id order by template_id) = 1
),

-- a control's tasks have no stereotype: the first half as shown stands for the first group's
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

-- thousands of plays have few compositions
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
),

final as (
    select
        counted.run_id,
        counted.cell_id,
        counted.case_id as play_id,
        counted.concern,
        coalesce(counted.facets ->> 'axis', '') as axis,
        coalesce(counted.facets ->> 'domain', counted.requirement) as domain,
        coalesce((counted.facets ->> 'held_out')::boolean, false) as held_out,
        coalesce((counted.facets ->> 'control')::boolean, false) as is_control,
        counted.template as scene,
        counted.oracle_type as question,
        counted.provider,
        counted.model,
        counted.facets ->> 'tuned_from' as tuned_from,
        counted.language,
        counted.input as setting,
        counted.reflection as mitigation,
        counted.operation as protocol,
        counted.sample as number,
        counted.groups[1] as first_group,
        counted.groups[2] as second_group,
        counted.people,
        counted.tasks,
        from_json(counted.facets -> 'rounds', '["VARCHAR"]') as rounds,
        from_json(counted.facets -> 'assigns', '["VARCHAR"]') as assigns,
        (counted.facets ->> 'wishes')::bigint as wishes,
        counted.facets ->> 'presence' as presence,
        counted.first_people,
        counted.second_people,
        counted.first_tasks,
        counted.second_tasks,
        compositions.expected_score
    from counted
    left join compositions using (first_tasks, second_tasks, first_people, second_people)
)

select * from final
