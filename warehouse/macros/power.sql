-- How many templates would decide.

-- independent rows with which a rate is told from the tolerance with the given power, two-sided at `confidence`;
-- null where they are the same
create macro statistics.rows_for_power(
    tolerance double, rate double, power double := 0.8, confidence double := 0.95
) as
    list_transform(
        [{
            'tolerance': tolerance,
            'rate': rate,
            'q_confidence': statistics.normal_quantile(0.5::double + confidence / 2),
            'q_power': statistics.normal_quantile(power)
        }],
        lambda given_: (
            given_.q_confidence * sqrt(given_.tolerance * (1 - given_.tolerance))
            + given_.q_power * sqrt(given_.rate * (1 - given_.rate))
        ) ** 2 / nullif((given_.rate - given_.tolerance) ** 2, 0)
    )[1];

-- templates that hold as much information as so many independent rows: n · (1 + (m − 1)·ρ) / m with m rows each
create macro statistics.templates_for_rows(
    independent_rows double, rows_per_template double, correlation double
) as
    independent_rows * (correlation + (1 - correlation) / rows_per_template);

create macro statistics.templates_for_power(
    tolerance double,
    rate double,
    rows_per_template double,
    correlation double,
    power double := 0.8,
    confidence double := 0.95
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

-- over templates: how alike the rows of one template are; one-way analysis of variance with unequal numbers of rows
-- (Donner 1986, International Statistical Review 54). Null where nothing varies or no template has two rows.
create macro statistics.intra_template_correlation(passed double, rows double) as
    statistics.correlation_of_variances(
        (list_sum(statistics.in_order(passed * passed / rows)) - sum(passed) ** 2 / sum(rows)) / nullif(count(rows) - 1, 0),
        (sum(passed) - list_sum(statistics.in_order(passed * passed / rows))) / nullif(sum(rows) - count(rows), 0),
        (sum(rows) - sum(rows * rows) / sum(rows)) / nullif(count(rows) - 1, 0)
    );

-- templates with which a rate like this would be decided four times in five: at least those that a perfect score needs
-- (none passed, where the rate is below the tolerance), and more than there are. Rows that do not vary tell no more
-- than one of each template.
create macro statistics.templates_needed(
    tolerance double, rate double, templates double, rows double, correlation double
) as
    list_transform(
        [{
            'tolerance': tolerance,
            'rate': rate,
            'templates': templates,
            'rows': rows,
            'correlation': least(1, greatest(0, coalesce(correlation, 1)))
        }],
        lambda given_: if(given_.rate = given_.tolerance, null, greatest(
            given_.templates + 1,
            statistics.templates_for_perfect_score(
                if(given_.rate > given_.tolerance, given_.tolerance, 1 - given_.tolerance)
            ),
            ceil(statistics.templates_for_power(
                given_.tolerance, given_.rate, given_.rows / given_.templates, given_.correlation
            ))
        ))
    )[1];
