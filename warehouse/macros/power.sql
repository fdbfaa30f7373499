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
        ) ** 2 / if(abs(given_.rate - given_.tolerance) < 1e-9, null, given_.rate - given_.tolerance) ** 2
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
            'at_least': if(rate > tolerance, if_perfect, if_nothing)::double
        }],
        lambda given_: if(abs(given_.rate - given_.tolerance) < 1e-9, null, greatest(
            given_.templates + 1,
            given_.at_least,
            ceil(statistics.templates_for_power(
                given_.tolerance, given_.rate, given_.rows / given_.templates, given_.correlation
            ))
        ))
    )[1];
