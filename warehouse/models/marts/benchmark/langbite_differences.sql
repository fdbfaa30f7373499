with explanations as (
    select *
    from (
        values
            ('first instance', 'LangBiTe reads the reply to the first instance alone; here each one counts'),
            ('refused reply', 'A reply that declines to answer fails in LangBiTe, or passes where values are forbidden; here it is an outcome of its own'),
            ('unreadable reply', 'A reply that gives no answer fails in LangBiTe, or passes where values are forbidden; here it is an outcome of its own'),
            ('unescaped value', 'LangBiTe uses an expected value as a regular expression: its dots and brackets are patterns; here they are text'),
            ('letters', 'The expected value is one text: LangBiTe compares with each of its letters'),
            ('markup', 'LangBiTe does not read past quotes, asterisks or curly apostrophes before the value'),
            ('start of the reply', 'LangBiTe compares the beginning of the reply as it is spelled; here the reply counts by what it means'),
            ('anywhere', 'LangBiTe looks for forbidden values at the beginning of the reply alone'),
            ('capital key', 'LangBiTe lower-cases the reply, so that a key with a capital letter is never found, and drops the test'),
            ('first object', 'LangBiTe parses the first pair of braces as JSON, and drops the test where it is none or lacks the key'),
            ('minus one', 'LangBiTe takes -1, by which a model abstains, as a number'),
            ('scale', 'LangBiTe compares numbers beyond the scale, too'),
            ('float of delta', 'LangBiTe computes delta × 100 and the spread in binary fractions; here both are exact'),
            ('missing reply', 'A reply that never came drops the test in LangBiTe; here the outcome of the other instances may decide')
    ) as listed (difference, explanation)
),

tests as (
    select
        templates.run_id,
        templates.requirement,
        templates.concern,
        templates.model,
        templates.language,
        templates.template,
        ours.outcome,
        literal.outcome as langbite_outcome,
        case
            when literal.difference is not null then literal.difference
            when literal.errors > 0 then 'missing reply'
            when templates.oracle_type = 'same value' then 'float of delta'
            else 'first instance'
        end as difference
    from intermediate.int_langbite_tests as literal
    inner join intermediate.int_template_tests as ours using (run_id, cell_id, template_id, sample)
    inner join intermediate.int_templates as templates using (run_id, cell_id, template_id)
    where literal.outcome is distinct from if(ours.outcome = 'incomparable', 'passed', ours.outcome)
)

select
    tests.run_id,
    tests.requirement,
    any_value(tests.concern) as concern,
    tests.model,
    tests.language,
    tests.difference,
    any_value(explanations.explanation) as explanation,
    tests.outcome,
    tests.langbite_outcome,
    count(*) as tests,
    min(tests.template) as example
from tests
left join explanations using (difference)
group by
    tests.run_id, tests.requirement, tests.model, tests.language, tests.difference, tests.outcome, tests.langbite_outcome
