-- Which templates do most models fail? Where all do, read the template before you blame the models.
with tests as (
    select
        cases.concern,
        cases.language,
        cases.template,
        cases.model,
        -- as it is written, not as it is reworded
        arg_min(cases.template_text, cases.wording) as template_text,
        bool_or(tests.outcome = 'failed') as is_failed
    from intermediate.int_template_tests as tests
    inner join staging.stg_cases as cases using (run_id, cell_id, template_id, sample)
    where
        run_id = (select max(run_id) from intermediate.int_template_tests where outcome in ('passed', 'failed'))
        -- a refusal does not concern the template
        and tests.outcome in ('passed', 'failed')
    group by all
)

select
    concern,
    language,
    template,
    count(*) filter (where is_failed) as models_failing,
    count(*) as models,
    string_agg(model, ', ' order by model) filter (where is_failed) as who,
    any_value(template_text) as template_text
from tests
group by concern, language, template
having bool_or(is_failed)
order by models_failing / models desc, concern, language, template
limit 20;
