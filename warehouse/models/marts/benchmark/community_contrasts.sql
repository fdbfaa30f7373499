with instances as (
    select * from intermediate.int_instances where len(communities) > 0
),

-- families of comparisons and their prompts: numbers in place of names, for millions of rows
asked as (
    select
        templates.template_key,
        templates.oracle_type,
        templates.scale_low,
        templates.scale_high - templates.scale_low as scale_width,
        cells.*,
        hash(cells.run_id, cells.requirement, cells.model, cells.language) as comparison,
        hash(comparison, templates.template_id) as question
    from intermediate.int_templates as templates
    inner join intermediate.int_planned_cells as cells using (run_id, cell_id)
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

questions as (
    select
        question,
        any_value(comparison) as comparison,
        if(any_value(oracle_type) = 'same value', 'value', 'pass rate') as measure
    from asked
    group by question
),

-- in `{A} or {B}?` the first slot is a different question from the second
slots as (
    select
        instance_key,
        unnest(range(1, len(communities) + 1)) as slot,
        unnest(communities) as community
    from instances
),

-- a number, shorter than a hash, since millions of rows are summed by it
places as (
    select
        slot,
        community,
        (row_number() over ())::uinteger as place
    from slots
    group by slot, community
),

placed as (
    select
        slots.instance_key,
        places.place
    from slots
    inner join places using (slot, community)
),

-- score of one template for one community, over samples and other slots: 1 for a pass, for a number its share of the
-- scale
communities as (
    select
        asked.question,
        placed.place,
        sum(outcomes.judged - outcomes.errors)::bigint as judged,
        sum(outcomes.refused)::bigint as refused,
        sum(if(
            asked.oracle_type = 'same value',
            outcomes.numbers,
            statistics.counted(
                asked.refusals_rule, outcomes.passed, outcomes.failed, outcomes.refused, outcomes.unreadable
            )
        ))::bigint as scored,
        sum(if(
            asked.oracle_type = 'same value',
            (outcomes.number_total - outcomes.numbers * asked.scale_low) / asked.scale_width,
            statistics.counted_passed(asked.refusals_rule, outcomes.passed, outcomes.refused)
        )::decimal(38, 12))::double as score
    from intermediate.int_instance_outcomes as outcomes
    inner join asked using (template_key)
    inner join placed using (instance_key)
    where outcomes.judged > outcomes.errors
    group by asked.question, placed.place
),

measured as (
    select
        communities.question,
        communities.place,
        places.slot,
        communities.scored,
        communities.score / nullif(communities.scored, 0) as score,
        communities.judged,
        communities.refused / communities.judged as refusal_rate
    from communities
    inner join places using (place)
),

-- decimals give the same sum in any order
templates_as_a_whole as (
    select
        question,
        slot,
        sum(score::decimal(38, 18))::double as scores,
        count(score) as scored_communities,
        sum(refusal_rate::decimal(38, 18))::double as refusal_rates,
        count(*) as communities
    from measured
    group by question, slot
    having count(*) > 1
),

beside_others as (
    select
        questions.comparison,
        questions.measure,
        measured.place,
        measured.scored,
        measured.score,
        (whole.scores - measured.score) / nullif(whole.scored_communities - 1, 0) as score_of_others,
        measured.judged,
        measured.refusal_rate,
        (whole.refusal_rates - measured.refusal_rate) / (whole.communities - 1) as refusal_rate_of_others
    from measured
    inner join templates_as_a_whole as whole using (question, slot)
    inner join questions using (question)
),

contrasted as (
    select
        comparison,
        measure,
        place,
        scored as replies,
        score as own,
        score_of_others as others,
        own - others as contrast
    from beside_others
    where score_of_others is not null
    union all by name
    select
        comparison,
        'refusal rate' as measure,
        place,
        judged as replies,
        refusal_rate as own,
        refusal_rate_of_others as others,
        own - others as contrast
    from beside_others
),

by_community as (
    select
        comparison,
        measure,
        place,
        count(*) as templates,
        sum(replies)::bigint as replies,
        statistics.mean_of_shares(own) as level,
        statistics.mean_of_shares(others) as level_of_others,
        statistics.mean_of_shares(contrast) as difference,
        statistics.se_of_shares(contrast) as standard_error
    from contrasted
    group by all
),

-- computed per number of templates: there are few
quantiles as materialized (
    select
        templates,
        statistics.t_quantile(0.975, templates - 1) as quantile
    from (select distinct templates from by_community)
),

compared as (
    select
        comparisons.* exclude (comparison),
        places.slot,
        places.community,
        by_community.* exclude (comparison, place),
        quantiles.quantile
    from by_community
    inner join comparisons using (comparison)
    inner join places using (place)
    inner join quantiles using (templates)
),

tested as (
    select
        *,
        statistics.paired_p_value(difference, standard_error, templates) as p_value,
        -- if all templates differ equally, there is no spread from which to estimate an error
        if(standard_error > 0, quantile * standard_error, null) as half
    from compared
),

-- all contrasts of a run are one family of comparisons
adjusted as (
    from statistics.with_q_values('tested', p_value, run_id)
)

select
    *,
    if(half is null, null, greatest(-1, difference - half)) as difference_low,
    if(half is null, null, least(1, difference + half)) as difference_high,
    case
        when q_value is null then 'not tested'
        when q_value > 0.05 then 'no difference shown'
        when difference < 0 then 'lower'
        else 'higher'
    end as finding
from adjusted
