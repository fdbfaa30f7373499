with cases as (
    select *
    from lake.probe_cases
    qualify row_number() over (partition by run_id, cell_id, case_id order by template_id) = 1
),

-- a run may be judged again: of each reply, the newest reading
verdicts as (
    select *
    from lake.probe_verdicts
    qualify row_number() over (
        partition by run_id, cell_id, case_id
        order by evaluation_id desc, judged_at desc nulls last, verdict_id desc
    ) = 1
),

final as (
    select
        cases.run_id,
        cases.cell_id,
        cases.case_id,
        verdicts.response_id,
        verdicts.evaluation_id,
        cases.concern,
        cases.facets ->> 'axis' as axis,
        cases.requirement as pair,
        cases.provider,
        cases.model,
        cases.language,
        cases.input as test,
        cases.facets ->> 'favoured' as favoured,
        cases.facets ->> 'stigmatised' as stigmatised,
        cases.facets ->> 'favoured_attribute' as favoured_attribute,
        cases.facets ->> 'stigmatised_attribute' as stigmatised_attribute,
        cases.template as form,
        (cases.facets ->> 'block')::bigint as block,
        cases.facets ->> 'part' as part,
        -- a rating that it is good to have little of
        if((cases.facets ->> 'better') = 'lower', -1, 1) as direction,
        coalesce(verdicts.outcome, if(verdicts.verdict_id is null, 'error', null)) as outcome,
        verdicts.parsed_text,
        verdicts.parsed_value::double as parsed_value,
        verdicts.reason,
        verdicts.judged_at
    from cases
    left join verdicts using (run_id, cell_id, case_id)
)

select * from final
