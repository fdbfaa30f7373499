-- Rates of clusters (templates) of rows, their standard errors and intervals. `passed` and `rows` are counts of one
-- template. Macros "over templates" are aggregates, with one row per template. Numbers other than integers are summed
-- in sorted order, so that results do not depend on the number of threads.

create macro statistics.in_order(one double) as
    list_sort(list(one) filter (where one is not null));

-- over templates: all have the same weight, for any number of rows
create macro statistics.macro_rate(passed double, rows double) as
    list_avg(statistics.in_order(passed / rows));

-- over templates: standard error of the macro rate; null for fewer than two
create macro statistics.macro_se(passed double, rows double) as
    list_aggregate(statistics.in_order(passed / rows), 'stddev_samp') / sqrt(count(passed / rows));

-- over millions of rows, where lists would be slow: decimals of eighteen digits give the same sum in any order. Null
-- for NaN and for what is so large that the sum of millions could not be held
create macro statistics.as_summand(number double) as
    case when abs(number) < 1e12 then try_cast(number as decimal(38, 18)) end;

-- null if a number has no summand
create macro statistics.total(number double) as
    case
        when count(statistics.as_summand(number)) = count(number) then sum(statistics.as_summand(number))::double
    end;

-- the same as the macro rate and its standard error for shares or differences of shares
create macro statistics.mean_of_shares(share double) as
    statistics.total(share) / count(share);

create macro statistics.se_of_shares(share double) as
    case
        when count(share) < 2 then null
        when statistics.total(share) is null then null
        when min(share) = max(share) then 0
        else sqrt(
            greatest(
                0,
                statistics.total(share * share) - statistics.total(share) ** 2 / count(share)
            ) / (count(share) - 1) / count(share)
        )
    end;

-- over templates: all rows have the same weight
create macro statistics.row_rate(passed double, rows double) as
    statistics.total(passed) / statistics.total(rows);

create macro statistics.without_rounding(remainder double, whole double) as
    list_transform(
        [{'of': remainder, 'whole': whole}],
        lambda given_: case when given_.of <= 1e-12 * given_.whole then 0 else given_.of end
    )[1];

-- over templates: clustered standard error of the row rate, √(G/(G−1) · Σ(s − n·p)²) / N, with the square expanded.
-- Negative rounding errors become 0. Null for fewer than two
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

-- over prompts with `samples` replies each: standard error of the macro rate for these prompts; null if one has a
-- single sample
create macro statistics.fixed_library_se(passed double, samples double) as
    case
        when min(samples) < 2 then null
        else sqrt(list_sum(statistics.in_order(passed * (samples - passed) / samples ** 2 / (samples - 1))))
            / count(samples)
    end;

-- effective number of independent rows; templates with one common rate count as one row each. Rates count as different
-- only beyond rounding, which can leave a standard error of 1e-17.
create macro statistics.effective_n(rate double, se double, templates double, rows double) as
    list_transform(
        [{'rate': rate, 'se': se, 'templates': templates, 'rows': rows}],
        lambda given_: case
            when given_.se is null or not isfinite(given_.se) or not isfinite(given_.rate) then null
            when given_.se < 1e-12 then given_.templates
            else least(given_.rows, given_.rate * (1 - given_.rate) / given_.se ** 2)
        end
    )[1];

-- Wilson's interval of a rate of n rows with quantile q (Wilson 1927); null without rows, and if a number is not finite
create macro statistics.wilson(rate double, n double, q double) as
    list_transform(
        list_transform(
            [{'rate': rate, 'n': n, 'q': q}],
            lambda given_: {
                'middle': given_.rate + given_.q ** 2 / (2 * given_.n),
                'half': given_.q * sqrt(
                    given_.rate * (1 - given_.rate) / given_.n + given_.q ** 2 / (4 * given_.n ** 2)
                ),
                'shrink': case
                    when given_.n > 0 and isfinite(given_.n + given_.q) and given_.rate between 0 and 1
                        then 1 + given_.q ** 2 / given_.n
                end
            }
        ),
        lambda about_: case
            when about_.shrink is null then null
            else {
            'low': greatest(0, (about_.middle - about_.half) / about_.shrink),
            'high': least(1, (about_.middle + about_.half) / about_.shrink)
        }
        end
    )[1];

-- of a rate by another from the intervals of both (MOVER-R, Donner and Zou 2012), wider than need be where they are
-- correlated. `high` is null where there is no upper end; null where the other rate is 0
create macro statistics.ratio_interval(rate, of_rate, base, of_base) as
    list_transform(
        list_transform(
            [{'rate': rate::double, 'base': base::double, 'of_rate': of_rate, 'of_base': of_base}],
            lambda given_: {
                'base': given_.base,
                'product': given_.rate * given_.base,
                'low': given_.of_rate.low * (2 * given_.rate - given_.of_rate.low),
                'high': given_.of_rate.high * (2 * given_.rate - given_.of_rate.high),
                'base_low': given_.of_base.low * (2 * given_.base - given_.of_base.low),
                'base_high': given_.of_base.high * (2 * given_.base - given_.of_base.high)
            }
        ),
        lambda of_: case
            when of_.base > 0 and of_.low is not null and of_.base_low is not null then {
                'low': case
                    when of_.low <= 0 then 0
                    else of_.low / (of_.product + sqrt(greatest(0, of_.product ** 2 - of_.low * of_.base_high)))
                end,
                'high': case
                    when of_.base_low > 0
                        then (of_.product + sqrt(greatest(0, of_.product ** 2 - of_.high * of_.base_low))) / of_.base_low
                end
            }
        end
    )[1];

-- for independent rows
create macro statistics.wilson_of_counts(passed double, rows double, confidence double := 0.95) as
    list_transform(
        [{'passed': passed, 'rows': rows, 'q': statistics.normal_quantile(0.5::double + confidence / 2)}],
        lambda given_: statistics.wilson(given_.passed / given_.rows, given_.rows, given_.q)
    )[1];

-- for a macro rate: t with templates − 1 degrees of freedom on the effective number of rows; null for one template
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
