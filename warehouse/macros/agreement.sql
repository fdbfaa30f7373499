-- Agreement of two assessors. `counts` is the matrix of frequencies: first assessor i, second assessor j.

create macro statistics.all_counted(counts double[][]) as
    list_sum(list_transform(counts, lambda row_: list_sum(row_)));

-- over rows: the 4×4 matrix with the sum of the weights of each pair of verdicts
create macro statistics.square_of(first_word, second_word, weight) as
    list_transform(range(1, 5), lambda i_: list_transform(range(1, 5), lambda j_: coalesce(list_sum(
        list_transform(
            list({'i': first_word, 'j': second_word, 'w': weight}),
            lambda one_: case when one_.i = i_ and one_.j = j_ then one_.w else 0 end
        )
    ), 0)::double));

-- over rows, one per pair of verdicts: the 2×2 matrix, the affirmative verdict first
create macro statistics.two_by_two(by_first, by_second, weight) as [
    [
        coalesce(any_value(weight) filter (where by_first and by_second), 0)::double,
        coalesce(any_value(weight) filter (where by_first and not by_second), 0)::double
    ],
    [
        coalesce(any_value(weight) filter (where not by_first and by_second), 0)::double,
        coalesce(any_value(weight) filter (where not by_first and not by_second), 0)::double
    ]
];

create macro statistics.observed_agreement(counts double[][]) as
    list_sum(list_transform(range(1, len(counts) + 1), lambda i_: counts[i_][i_])) / statistics.all_counted(counts);

-- row totals: frequencies of the first assessor's verdicts
create macro statistics.first_said(counts double[][], i bigint) as
    list_sum(counts[i]) / statistics.all_counted(counts);

create macro statistics.second_said(counts double[][], i bigint) as
    list_sum(list_transform(counts, lambda row_: row_[i])) / statistics.all_counted(counts);

create macro statistics.beyond_chance(observed double, by_chance double) as
    (observed - by_chance) / nullif(1 - by_chance, 0);

-- Cohen 1960. Misleading if one category is rare: compare with Gwet's AC1, sensitivity and specificity.
create macro statistics.cohens_kappa(counts double[][]) as
    statistics.beyond_chance(
        statistics.observed_agreement(counts),
        list_sum(list_transform(
            range(1, len(counts) + 1),
            lambda verdict_: statistics.first_said(counts, verdict_) * statistics.second_said(counts, verdict_)
        ))
    );

create macro statistics.spread_of(share double) as
    share * (1 - share);

-- Gwet 2008
create macro statistics.gwets_ac1(counts double[][]) as
    statistics.beyond_chance(
        statistics.observed_agreement(counts),
        list_sum(list_transform(
            range(1, len(counts) + 1),
            lambda verdict_: statistics.spread_of(
                (statistics.first_said(counts, verdict_) + statistics.second_said(counts, verdict_)) / 2
            )
        )) / (len(counts) - 1)
    );

-- sensitivity: the share of true passes that the judge passes
create macro statistics.sensitivity(true_passed double, false_failed double) as
    true_passed / nullif(true_passed + false_failed, 0);

-- specificity: the share of true fails that the judge fails
create macro statistics.specificity(true_failed double, false_passed double) as
    true_failed / nullif(true_failed + false_passed, 0);

-- the true rate, estimated from the judge's pass rate (Rogan and Gladen 1978); chance can take it below 0 or above 1
create macro statistics.corrected_rate(rate double, sensitivity double, specificity double) as
    case
        when isfinite(rate + specificity + sensitivity)
            then (rate + specificity - 1) / nullif(specificity + sensitivity - 1, 0)
    end;

-- clipped to 0 and 1; null stays null
create macro statistics.as_share(rate double) as
    case when rate is null then null else greatest(0, least(1, rate)) end;

-- standard error of the corrected rate: the rate from n rows, sensitivity and specificity from m1 and m0 other rows.
-- Null without rows of one of them, and if a number is not finite
create macro statistics.corrected_rate_se(
    rate double, n double, sensitivity double, m1 double, specificity double, m0 double
) as
    sqrt(
        case when isfinite(n + m1 + m0) then rate end * (1 - rate) / nullif(n, 0)
        + statistics.corrected_rate(rate, sensitivity, specificity) ** 2 * sensitivity * (1 - sensitivity) / nullif(m1, 0)
        + (1 - statistics.corrected_rate(rate, sensitivity, specificity)) ** 2 * specificity * (1 - specificity) / nullif(m0, 0)
    ) / abs(nullif(specificity + sensitivity - 1, 0));

-- Sampled pairs have the inverse of their sampling probability as weight: `counts` holds sums of weights, and
-- `squares` sums of squared weights. Unweighted, both are counts.

-- effective number of unweighted rows (Kish 1965)
create macro statistics.rows_of_weights(weights double, squares double) as
    weights ** 2 / nullif(squares, 0);

create macro statistics.all_said(counts double[][], i bigint) as
    (statistics.first_said(counts, i) + statistics.second_said(counts, i)) / 2;

-- delta method for (observed − by chance)/(1 − by chance): a pair contributes its agreement, less the contribution of
-- its two verdicts to chance agreement, `moved`; both relative to their means
create macro statistics.pairs_part(agrees boolean, observed double, by_chance double, moved double) as
    (agrees::int - observed) / nullif(1 - by_chance, 0) - (1 - observed) * moved / nullif(1 - by_chance, 0) ** 2;

create macro statistics.spread_of_parts(parts double[][], squares double[][], counts double[][]) as
    sqrt(list_sum(list_transform(
        range(1, len(parts) + 1),
        lambda i_: list_sum(list_transform(
            range(1, len(parts) + 1), lambda j_: squares[i_][j_] * parts[i_][j_] ** 2
        ))
    ))) / statistics.all_counted(counts);

-- Fleiss, Cohen and Everitt 1969, in its general form
create macro statistics.cohens_kappa_se(counts double[][], squares double[][]) as
    list_transform(
        [{
            'counts': counts,
            'squares': squares,
            'observed': statistics.observed_agreement(counts),
            'first': list_transform(range(1, len(counts) + 1), lambda k_: statistics.first_said(counts, k_)),
            'second': list_transform(range(1, len(counts) + 1), lambda k_: statistics.second_said(counts, k_))
        }],
        lambda of_: list_transform(
            [list_sum(list_transform(range(1, len(of_.first) + 1), lambda k_: of_.first[k_] * of_.second[k_]))],
            lambda chance_: statistics.spread_of_parts(
                list_transform(range(1, len(of_.first) + 1), lambda i_: list_transform(
                    range(1, len(of_.first) + 1),
                    lambda j_: statistics.pairs_part(
                        i_ = j_, of_.observed, chance_, of_.second[i_] + of_.first[j_] - 2 * chance_
                    )
                )),
                of_.squares,
                of_.counts
            )
        )[1]
    )[1];

-- Gwet 2008, its variance within a sample of pairs
create macro statistics.gwets_ac1_se(counts double[][], squares double[][]) as
    list_transform(
        [{
            'counts': counts,
            'squares': squares,
            'observed': statistics.observed_agreement(counts),
            'shares': list_transform(range(1, len(counts) + 1), lambda k_: statistics.all_said(counts, k_))
        }],
        lambda of_: list_transform(
            [list_sum(list_transform(of_.shares, lambda share_: share_ ** 2))],
            lambda same_: statistics.spread_of_parts(
                list_transform(range(1, len(of_.shares) + 1), lambda i_: list_transform(
                    range(1, len(of_.shares) + 1),
                    lambda j_: statistics.pairs_part(
                        i_ = j_,
                        of_.observed,
                        (1 - same_) / (len(of_.shares) - 1),
                        2 * (same_ - (of_.shares[i_] + of_.shares[j_]) / 2) / (len(of_.shares) - 1)
                    )
                )),
                of_.squares,
                of_.counts
            )
        )[1]
    )[1];

-- interval of a chance-corrected agreement: normal, clipped to −1 and 1. If all rows agree, or none, the standard
-- error is 0 and useless: then Wilson's bound of the observed agreement a, as 2a − 1, the value for a chance agreement
-- of ½. `q` is the normal quantile of the confidence
create macro statistics.agreement_interval(
    coefficient double, se double, observed double, rows double, q double
) as
    list_transform(
        [{
            'coefficient': coefficient,
            'se': se,
            'observed': observed,
            'q': q,
            'wilson': statistics.wilson(observed, rows, q)
        }],
        lambda given_: case
            when given_.coefficient is null or given_.se is null then null
            when given_.se > 1e-12 then {
                'low': greatest(-1, given_.coefficient - given_.q * given_.se),
                'high': least(1, given_.coefficient + given_.q * given_.se)
            }
            when abs(given_.coefficient) < 1e-9 then null
            when given_.observed > 0.5 then {'low': 2 * given_.wilson.low - 1, 'high': given_.coefficient}
            else {'low': given_.coefficient, 'high': 2 * given_.wilson.high - 1}
        end
    )[1];

-- the rows of the caller's CTE `rows_`, with the agreement of two assessors and its intervals. Each row has `two`, the
-- matrix of sums of weights, and `two_squares`, that of squared weights, by the first assessor's verdict.
create macro statistics.with_agreement(rows_) as table
    with measured as (
        select
            *,
            statistics.all_counted(two) as two_n,
            statistics.rows_of_weights(two_n, statistics.all_counted(two_squares)) as two_rows,
            statistics.sensitivity(two[1][1], two[1][2]) as sensitivity,
            statistics.specificity(two[2][2], two[2][1]) as specificity,
            statistics.rows_of_weights(list_sum(two[1]), list_sum(two_squares[1])) as first_rows,
            statistics.rows_of_weights(list_sum(two[2]), list_sum(two_squares[2])) as second_rows,
            case when two_n > 0 then statistics.observed_agreement(two) end as observed_agreement,
            case when two_n > 0 then statistics.cohens_kappa(two) end as cohens_kappa,
            case when two_n > 0 then statistics.cohens_kappa_se(two, two_squares) end as cohens_kappa_se,
            case when two_n > 0 then statistics.gwets_ac1(two) end as gwets_ac1,
            case when two_n > 0 then statistics.gwets_ac1_se(two, two_squares) end as gwets_ac1_se
        from query_table(rows_)
    ),

    quantiles as (
        select statistics.normal_quantile(0.975) as q
    ),

    intervals as (
        select
            *,
            statistics.wilson(observed_agreement, two_rows, q) as of_agreement,
            statistics.wilson(sensitivity, first_rows, q) as of_sensitivity,
            statistics.wilson(specificity, second_rows, q) as of_specificity,
            statistics.agreement_interval(cohens_kappa, cohens_kappa_se, observed_agreement, two_rows, q) as of_kappa,
            statistics.agreement_interval(gwets_ac1, gwets_ac1_se, observed_agreement, two_rows, q) as of_ac1
        from measured
        cross join quantiles
    )

    select
        *,
        of_agreement.low as observed_agreement_low,
        of_agreement.high as observed_agreement_high,
        of_sensitivity.low as sensitivity_low,
        of_sensitivity.high as sensitivity_high,
        of_specificity.low as specificity_low,
        of_specificity.high as specificity_high,
        of_kappa.low as cohens_kappa_low,
        of_kappa.high as cohens_kappa_high,
        of_ac1.low as gwets_ac1_low,
        of_ac1.high as gwets_ac1_high
    from intervals;
