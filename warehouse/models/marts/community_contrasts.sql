with outcomes as (
    select * from staging.stg_instance_outcomes
),

instances as (
    select * from staging.stg_instances where len(communities) > 0
),

templates as (
    select * from staging.stg_templates
),

cells as (
    select * from staging.stg_planned_cells
),

-- what is compared together, and each of its questions: numbers in place of their names, for millions of rows
asked as (
    select
        templates.template_key,
        templates.oracle_type,
        templates.scale_low,
        templates.scale_high - templates.scale_low as scale_width,
        cells.run_id,
        cells.requirement,
        cells.concern,
        cells.provider,
        cells.model,
        cells.language,
        cells.refusals_rule,
        hash(cells.run_id, cells.requirement, cells.model, cells.language) as comparison,
        hash(comparison, templates.template_id) as question
    from templates
    inner join cells using (run_id, cell_id)
),

comparisons as (
    select distinct
        comparison,
        run_id,
        requirement,
        concern,
        provider,
        model,
        language
    from asked
),

-- in `{A} or {B}?` the first slot is another question than the second
slots as (
    select
        asked.comparison,
        asked.question,
        asked.oracle_type,
        unnest(range(1, len(instances.communities) + 1)) as slot,
        unnest(instances.communities) as community,
        outcomes.judged - outcomes.errors as judged,
        outcomes.refused,
        statistics.counted_passed(asked.refusals_rule, outcomes.passed, outcomes.refused) as counted_passed,
        statistics.counted(
            asked.refusals_rule, outcomes.passed, outcomes.failed, outcomes.refused, outcomes.unreadable
        ) as counted,
        outcomes.numbers,
        (outcomes.number_total - outcomes.numbers * asked.scale_low) / asked.scale_width as total
    from outcomes
    inner join asked using (template_key)
    inner join instances using (instance_key)
    where outcomes.judged > outcomes.errors
),

-- what one template says of one community, samples and other slots taken together
communities as (
    select
        any_value(comparison) as comparison,
        question,
        any_value(oracle_type) as oracle_type,
        slot,
        community,
        sum(judged)::bigint as judged,
        sum(refused)::bigint as refused,
        sum(counted_passed)::bigint as counted_passed,
        sum(counted)::bigint as counted,
        sum(numbers)::bigint as numbers,
        sum(total::decimal(38, 12))::double as total
    from slots
    group by question, slot, community
),

measured as (
    select
        comparison,
        question,
        slot,
        community,
        'pass rate' as measure,
        counted as replies,
        counted_passed / counted as own
    from communities
    where oracle_type = 'expected value' and counted > 0
    union all by name
    select
        comparison,
        question,
        slot,
        community,
        'value' as measure,
        numbers as replies,
        total / numbers as own
    from communities
    where oracle_type = 'same value' and numbers > 0
    union all by name
    select
        comparison,
        question,
        slot,
        community,
        'refusal rate' as measure,
        judged as replies,
        refused / judged as own
    from communities
),

-- decimals: the same sum in whatever order they are added
templates_as_a_whole as (
    select
        question,
        measure,
        slot,
        sum(own::decimal(38, 18))::double as total,
        count(*) as communities
    from measured
    group by question, measure, slot
    having count(*) > 1
),

contrasted as (
    select
        measured.*,
        (whole.total - measured.own) / (whole.communities - 1) as others,
        measured.own - others as contrast
    from measured
    inner join templates_as_a_whole as whole using (question, measure, slot)
),

by_community as (
    select
        comparison,
        measure,
        slot,
        community,
        count(*) as templates,
        sum(replies)::bigint as replies,
        statistics.mean_of_shares(own) as level,
        statistics.mean_of_shares(others) as level_of_others,
        statistics.mean_of_shares(contrast) as difference,
        statistics.se_of_shares(contrast) as standard_error
    from contrasted
    group by all
),

compared as (
    select
        comparisons.* exclude (comparison),
        by_community.* exclude (comparison)
    from by_community
    inner join comparisons using (comparison)
),

tested as (
    select
        *,
        statistics.paired_p_value(difference, standard_error, templates) as p_value,
        -- where all templates differ alike, there is no spread that could tell how surely
        if(standard_error > 0, statistics.t_quantile(0.975, templates - 1) * standard_error, null) as half
    from compared
),

-- all contrasts of a run are one comparison
stepped as (
    select
        *,
        statistics.benjamini_hochberg_step(p_value, run_id) as step
    from tested
),

adjusted as (
    select
        *,
        statistics.benjamini_hochberg(step, p_value, run_id) as q_value
    from stepped
),

final as (
    select
        run_id,
        requirement,
        concern,
        provider,
        model,
        language,
        measure,
        slot,
        community,
        templates,
        replies,
        level,
        level_of_others,
        difference,
        standard_error,
        if(half is null, null, greatest(-1, difference - half)) as difference_low,
        if(half is null, null, least(1, difference + half)) as difference_high,
        p_value,
        q_value,
        case
            when q_value is null then 'not tested'
            when q_value > 0.05 then 'no difference shown'
            when difference < 0 then 'lower'
            else 'higher'
        end as finding
    from adjusted
)

select * from final
