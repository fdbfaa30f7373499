-- Number of templates for a decision.

-- independent rows needed to distinguish a rate from the tolerance with the given power, two-sided at `confidence`.
-- Null if both are equal up to rounding
create macro statistics.rows_for_power(tolerance, rate, power := 0.8, confidence := 0.95) as
    list_transform(
        [{
            'tolerance': tolerance::double,
            'rate': rate::double,
            'q_confidence': statistics.normal_quantile(0.5::double + confidence / 2),
            'q_power': statistics.normal_quantile(power)
        }],
        lambda given_: (
            given_.q_confidence * sqrt(given_.tolerance * (1 - given_.tolerance))
            + given_.q_power * sqrt(given_.rate * (1 - given_.rate))
        ) ** 2 / case
            when abs(given_.rate - given_.tolerance) >= 1e-9 then given_.rate - given_.tolerance
        end ** 2
    )[1];

-- templates with as much information as that many independent rows: n · (1 + (m − 1)·ρ) / m with m rows each
create macro statistics.templates_for_rows(independent_rows, rows_per_template, correlation) as
    independent_rows * (correlation::double + (1 - correlation::double) / rows_per_template);

create macro statistics.templates_for_power(
    tolerance, rate, rows_per_template, correlation, power := 0.8, confidence := 0.95
) as
    statistics.templates_for_rows(
        statistics.rows_for_power(tolerance, rate, power := power, confidence := confidence),
        rows_per_template,
        correlation
    );

create macro statistics.correlation_of_variances(between_templates double, within double, rows_each double) as
    list_transform(
        [{'between': between_templates, 'within': within, 'rows': rows_each}],
        lambda given_: (given_.between - given_.within)
            / nullif(given_.between + (given_.rows - 1) * given_.within, 0)
    )[1];

-- over templates: intraclass correlation of a template's rows, by one-way analysis of variance with unequal numbers of
-- rows (Donner 1986, International Statistical Review 54). Null without variation or if no template has two rows.
create macro statistics.intra_template_correlation(passed double, rows double) as
    statistics.correlation_of_variances(
        (list_sum(statistics.in_order(passed * passed / rows)) - sum(passed) ** 2 / sum(rows)) / nullif(count(rows) - 1, 0),
        (sum(passed) - list_sum(statistics.in_order(passed * passed / rows))) / nullif(sum(rows) - count(rows), 0),
        (sum(rows) - sum(rows * rows) / sum(rows)) / nullif(count(rows) - 1, 0)
    );

-- templates with which such a rate is decided with a power of .8: more than there are, and at least those that a
-- perfect score needs. Rows without variation count as one row per template. Null if the rate is the tolerance.
create macro statistics.templates_needed(
    tolerance, rate, templates, rows, correlation, if_perfect, if_nothing
) as
    list_transform(
        [{
            'tolerance': tolerance::double,
            'rate': rate::double,
            'templates': templates::double,
            'rows': rows::double,
            'correlation': least(1, greatest(0, coalesce(correlation, 1)))::double,
            'at_least': case when rate > tolerance then if_perfect else if_nothing end::double
        }],
        lambda given_: case
            when abs(given_.rate - given_.tolerance) < 1e-9 then null
            else greatest(
            given_.templates + 1,
            given_.at_least,
            ceil(statistics.templates_for_power(
                given_.tolerance, given_.rate, given_.rows / given_.templates, given_.correlation
            ))
        )
        end
    )[1];

-- independent rows that so many templates of so many rows each are worth: the inverse of templates_for_rows, and at
-- least one row a template
create macro statistics.rows_of_templates(templates, rows_per_template, correlation) as
    greatest(templates, round(templates / (correlation::double + (1 - correlation::double) / rows_per_template)));

-- chance that at least so many of n independent rows pass; none if no number is enough
create macro statistics.chance_of_at_least(fewest, n, rate) as
    case when fewest is null then 0 else 1 - statistics.binomial_cdf(fewest - 1, n, rate) end;

create macro statistics.chance_of_at_most(most, n, rate) as
    case when most is null then 0 else statistics.binomial_cdf(most, n, rate) end;

-- the rows of the caller's CTE or table `plans_` (plan, tolerance, templates, rows_per_template, correlation) with the
-- chance that each is decided at true rates, before anything is sent. Every number of rows that may pass is decided as
-- a finding is; with one row a template the number that passes is binomial and the chances are exact. Else the rows
-- count as so many independent ones as they are worth.
create macro statistics.with_power(plans_) as table
    with planned as (
        select
            *,
            statistics.templates_for_perfect_score(tolerance) as templates_if_perfect,
            statistics.templates_for_perfect_score(1 - tolerance) as templates_if_nothing,
            statistics.rows_of_templates(templates, rows_per_template, correlation)::bigint as independent_rows,
            statistics.t_quantile(0.975, templates - 1) as quantile
        from query_table(plans_)
    ),

    -- the variance between templates is that of a sample; without any, each template counts as one row
    numbers as (
        select
            *,
            unnest(range(independent_rows + 1)) as passed,
            case
                when passed in (0, independent_rows) then templates
                else independent_rows * (templates - 1) / templates
            end::double as effective_rows
        from planned
    ),

    intervals as (
        select
            *,
            statistics.wilson(passed / independent_rows, effective_rows, quantile) as ends
        from numbers
    ),

    decided as (
        select
            *,
            statistics.decision_of_templates(
                ends.low, ends.high, tolerance, templates, templates_if_perfect, templates_if_nothing
            ) as decision
        from intervals
    ),

    bounds as (
        select
            plan,
            min(passed) filter (where decision = 'met') as fewest_met,
            max(passed) filter (where decision = 'not met') as most_not_met
        from decided
        group by plan
    )

    select
        planned.*,
        case
            when tolerance < 0.95 or tolerance = 1 then statistics.chance_of_at_least(fewest_met, independent_rows, 0.95)
        end as met_at_95,
        case
            when tolerance < 0.98 or tolerance = 1 then statistics.chance_of_at_least(fewest_met, independent_rows, 0.98)
        end as met_at_98,
        case
            when tolerance < 0.99 or tolerance = 1 then statistics.chance_of_at_least(fewest_met, independent_rows, 0.99)
        end as met_at_99,
        case
            when tolerance > 0.85 then statistics.chance_of_at_most(most_not_met, independent_rows, 0.85)
        end as not_met_at_85,
        case
            when tolerance > 0.8 then statistics.chance_of_at_most(most_not_met, independent_rows, 0.8)
        end as not_met_at_80,
        case
            when tolerance > 0.7 then statistics.chance_of_at_most(most_not_met, independent_rows, 0.7)
        end as not_met_at_70
    from planned
    inner join bounds using (plan);
