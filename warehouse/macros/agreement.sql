-- Do two assessors agree? `counts` is the square of how often the first said i and the second said j.

create macro statistics.all_counted(counts double[][]) as
    list_sum(list_transform(counts, lambda row_: list_sum(row_)));

create macro statistics.observed_agreement(counts double[][]) as
    list_sum(list_transform(range(1, len(counts) + 1), lambda i_: counts[i_][i_])) / statistics.all_counted(counts);

-- how often the first assessor said i
create macro statistics.first_said(counts double[][], i bigint) as
    list_sum(counts[i]) / statistics.all_counted(counts);

create macro statistics.second_said(counts double[][], i bigint) as
    list_sum(list_transform(counts, lambda row_: row_[i])) / statistics.all_counted(counts);

create macro statistics.beyond_chance(observed double, by_chance double) as
    (observed - by_chance) / nullif(1 - by_chance, 0);

-- Cohen 1960. Misleading where one category is rare: read it beside Gwet's AC1, sensitivity and specificity.
create macro statistics.cohens_kappa(counts double[][]) as
    statistics.beyond_chance(
        statistics.observed_agreement(counts),
        list_sum(list_transform(
            range(1, len(counts) + 1),
            lambda said_: statistics.first_said(counts, said_) * statistics.second_said(counts, said_)
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
            lambda said_: statistics.spread_of(
                (statistics.first_said(counts, said_) + statistics.second_said(counts, said_)) / 2
            )
        )) / (len(counts) - 1)
    );

-- of what truly passes, the share that the judge passes
create macro statistics.sensitivity(true_passed double, false_failed double) as
    true_passed / nullif(true_passed + false_failed, 0);

-- of what truly fails, the share that the judge fails
create macro statistics.specificity(true_failed double, false_passed double) as
    true_failed / nullif(true_failed + false_passed, 0);

-- the true rate behind the rate that such a judge passes (Rogan and Gladen 1978); beyond 0 and 1 where chance took it
-- there
create macro statistics.corrected_rate(rate double, sensitivity double, specificity double) as
    (rate + specificity - 1) / nullif(specificity + sensitivity - 1, 0);

-- its standard error, when the rate comes from n rows, sensitivity and specificity from m1 and m0 others
create macro statistics.corrected_rate_se(
    rate double, n double, sensitivity double, m1 double, specificity double, m0 double
) as
    sqrt(
        rate * (1 - rate) / n
        + statistics.corrected_rate(rate, sensitivity, specificity) ** 2 * sensitivity * (1 - sensitivity) / m1
        + (1 - statistics.corrected_rate(rate, sensitivity, specificity)) ** 2 * specificity * (1 - specificity) / m0
    ) / abs(nullif(specificity + sensitivity - 1, 0));
