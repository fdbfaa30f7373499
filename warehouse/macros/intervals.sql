-- Rates of clusters (templates) of rows, their standard errors and intervals. `passed` and `rows` are the counts of
-- one template; macros that say "over templates" aggregate, one row per template. What is no whole number is summed in
-- its own order, so that the same rows give the same digits however many threads read them.

create macro statistics.in_order(one double) as
    list_sort(list(one) filter (where one is not null));

-- over templates: each counts alike, whatever the number of its rows
create macro statistics.macro_rate(passed double, rows double) as
    list_avg(statistics.in_order(passed / rows));

-- over templates: of the macro rate; null for fewer than two
create macro statistics.macro_se(passed double, rows double) as
    list_aggregate(statistics.in_order(passed / rows), 'stddev_samp') / sqrt(count(passed / rows));

-- the same of shares or differences of shares, over millions of rows, where lists would take their time: decimals of
-- eighteen digits, whose sum is the same in whatever order they are added
create macro statistics.mean_of_shares(share double) as
    sum(share::decimal(38, 18))::double / count(share);

create macro statistics.se_of_shares(share double) as
    case
        when count(share) < 2 then null
        when min(share) = max(share) then 0
        else sqrt(
            greatest(
                0,
                sum((share * share)::decimal(38, 18))::double - sum(share::decimal(38, 18))::double ** 2 / count(share)
            ) / (count(share) - 1) / count(share)
        )
    end;

-- decimals: the same sum in whatever order they are added
create macro statistics.total(number double) as
    sum(number::decimal(38, 18))::double;

-- over templates: each row counts alike
create macro statistics.row_rate(passed double, rows double) as
    statistics.total(passed) / statistics.total(rows);

create macro statistics.without_rounding(remainder double, whole double) as
    list_transform([{'of': remainder, 'whole': whole}], lambda given_: if(given_.of <= 1e-12 * given_.whole, 0, given_.of))[1];

-- over templates: of the row rate, clustered: √(G/(G−1) · Σ(s − n·p)²) / N, the square multiplied out, where
-- rounding may leave a remainder of nothing; null for fewer than two
create macro statistics.row_rate_se(passed double, rows double) as
    list_transform(
        [{
            'templates': count(rows),
            'rows': statistics.total(rows),
            'rate': statistics.row_rate(passed, rows),
            'passed_squared': statistics.total(passed * passed),
            'passed_rows': statistics.total(passed * rows),
            'rows_squared': statistics.total(rows * rows)
        }],
        lambda over_: sqrt(
            over_.templates / nullif(over_.templates - 1, 0) * statistics.without_rounding(
                over_.passed_squared - 2 * over_.rate * over_.passed_rows + over_.rate ** 2 * over_.rows_squared,
                over_.passed_squared
            )
        ) / over_.rows
    )[1];

-- over prompts, each asked `samples` times: of the macro rate on these very prompts; null where one was asked once
create macro statistics.fixed_library_se(passed double, samples double) as
    if(
        min(samples) < 2,
        null,
        sqrt(list_sum(statistics.in_order(passed * (samples - passed) / samples ** 2 / (samples - 1)))) / count(samples)
    );

-- rows that would tell as much if they were independent; templates that all have one rate tell no more than their
-- number. Rates that differ lie further apart than rounding, which may leave a standard error of 1e-17.
create macro statistics.effective_n(rate double, se double, templates double, rows double) as
    list_transform(
        [{'rate': rate, 'se': se, 'templates': templates, 'rows': rows}],
        lambda given_: case
            when given_.se is null then null
            when given_.se < 1e-12 then given_.templates
            else least(given_.rows, given_.rate * (1 - given_.rate) / given_.se ** 2)
        end
    )[1];

-- Wilson's interval of a rate of n rows, q standard errors to either side (Wilson 1927); null without rows
create macro statistics.wilson(rate double, n double, q double) as
    list_transform(
        list_transform(
            [{'rate': rate, 'n': n, 'q': q}],
            lambda given_: {
                'middle': given_.rate + given_.q ** 2 / (2 * given_.n),
                'half': given_.q * sqrt(
                    given_.rate * (1 - given_.rate) / given_.n + given_.q ** 2 / (4 * given_.n ** 2)
                ),
                'shrink': if(given_.n > 0 and given_.rate between 0 and 1, 1 + given_.q ** 2 / given_.n, null)
            }
        ),
        lambda about_: if(about_.shrink is null, null, {
            'low': greatest(0, (about_.middle - about_.half) / about_.shrink),
            'high': least(1, (about_.middle + about_.half) / about_.shrink)
        })
    )[1];

-- of independent rows
create macro statistics.wilson_of_counts(passed double, rows double, confidence double := 0.95) as
    list_transform(
        [{'passed': passed, 'rows': rows, 'q': statistics.normal_quantile(0.5::double + confidence / 2)}],
        lambda given_: statistics.wilson(given_.passed / given_.rows, given_.rows, given_.q)
    )[1];

-- of a macro rate: t with templates − 1 degrees of freedom on the effective number of rows; null for one template
create macro statistics.interval(rate, se, templates, rows, confidence := 0.95) as
    list_transform(
        [{
            'rate': rate::double,
            'se': se::double,
            'templates': templates::double,
            'rows': rows::double,
            'q': statistics.t_quantile(0.5::double + confidence / 2, templates - 1)
        }],
        lambda given_: statistics.wilson(
            given_.rate,
            statistics.effective_n(given_.rate, given_.se, given_.templates, given_.rows),
            given_.q
        )
    )[1];
