with clusters as (
    select
        run_id,
        requirement,
        any_value(concern) as concern,
        model,
        language,
        cluster,
        sum(measured_passed) / sum(measured) as rate
    from intermediate.int_template_rates
    where measured > 0
    group by run_id, requirement, model, language, cluster
),

-- the same question in both languages
paired as (
    select
        one.run_id,
        one.requirement,
        any_value(one.concern) as concern,
        one.model,
        one.language,
        other.language as other_language,
        count(*) as templates,
        statistics.mean_of_shares(one.rate) as rate,
        statistics.mean_of_shares(other.rate) as other_rate,
        statistics.mean_of_shares(one.rate - other.rate) as difference,
        statistics.se_of_shares(one.rate - other.rate) as standard_error,
        count(*) filter (where one.rate > other.rate) as only_this,
        count(*) filter (where one.rate < other.rate) as only_other
    from clusters as one
    inner join clusters as other
        on
            one.run_id = other.run_id
            and one.requirement = other.requirement
            and one.model = other.model
            and one.cluster = other.cluster
            and one.language < other.language
    group by one.run_id, one.requirement, one.model, one.language, other.language
),

tested as (
    select
        *,
        statistics.t_quantile(0.975::double, templates - 1) * nullif(standard_error, 0) as half_width,
        statistics.paired_p_value(difference, standard_error, templates) as p_value
    from paired
),

-- all pairs of languages of one run are one family of comparisons
adjusted as (
    from statistics.with_q_values('tested', p_value, run_id)
)

select
    * exclude (half_width),
    -- DuckDB leaves a null out of the greatest of two
    if(half_width is null, null, greatest(difference - half_width, -1)) as interval_low,
    if(half_width is null, null, least(difference + half_width, 1)) as interval_high,
    case statistics.change(difference, q_value)
        when 'worse' then 'lower'
        when 'better' then 'higher'
        else statistics.change(difference, q_value)
    end as finding
from adjusted
