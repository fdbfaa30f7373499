with trials as (
    select * from intermediate.int_probe_groups
),

facts as (
    select
        run_id,
        pair,
        model,
        language,
        test,
        any_value(concern) as concern,
        any_value(axis) as axis,
        any_value(provider) as provider
    from trials
    group by run_id, pair, model, language, test
),

tested as (
    from statistics.group_tests(
        'trials', {'run_id': run_id, 'pair': pair, 'model': model, 'language': language, 'test': test}
    )
),

-- the same family as in probe_findings: all pairs of one test of a model, in all languages
adjusted as (
    from statistics.with_q_values('tested', p_value, (run_id, model, test))
),

-- the pairs of groups are tested where groups are shown to differ: at the level times the share of tests in which they
-- are, the expected share of tests with a false pair among them is at most the level (Benjamini and Bogomolov 2014)
levelled as (
    select
        *,
        0.05 * count(*) filter (where q_value <= 0.05) over family / nullif(count(q_value) over family, 0) as level
    from adjusted
    window family as (partition by run_id, model, test)
)

select
    *,
    blocks as compared,
    case
        when q_value <= 0.05 then 'groups differ'
        when p_value is null and differing > 0 then 'not evaluated'
        when blocks < 6 then 'not evaluated'
        else 'no difference shown'
    end as finding
from facts
inner join levelled using (run_id, pair, model, language, test)
