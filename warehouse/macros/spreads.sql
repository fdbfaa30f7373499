-- Spread of group means by chance alone.

-- the number of a reply for comparison; null if its verdict has a reason for lacking one
create macro statistics.compared_number(outcome, number, rest) as
    case when outcome is null then number::decimal(30, 12) + coalesce(rest, 0) end;

-- outcome of a reply without a number, also if it was never evaluated; null if it has one
create macro statistics.incomparable_as(outcome, number) as
    coalesce(outcome, case when number is null then 'error' end);

-- the table's quantiles with their neighbours; the last ones extrapolate
create table statistics.studentised_range_patches as
with quantiles as (
    select * from statistics.studentised_range
),

along_degrees as (
    select
        *,
        lead(degrees) over across as next_degrees,
        lead(quantile) over across as of_next_degrees
    from quantiles
    window across as (partition by groups order by degrees)
),

along_both as (
    select
        *,
        lead(groups) over down as next_groups,
        lead(groups, 2) over down is null as is_last,
        lead(quantile) over down as of_next_groups,
        lead(of_next_degrees) over down as of_both_next
    from along_degrees
    window down as (partition by degrees order by groups)
)

select
    groups,
    case when is_last then 'infinity'::double else next_groups end as until_groups,
    ln(next_groups / groups) as log_groups_apart,
    degrees,
    next_degrees as until_degrees,
    1 / degrees - 1 / next_degrees as inverse_degrees_apart,
    quantile,
    of_next_degrees,
    of_next_groups,
    of_both_next
from along_both
where next_groups is not null and next_degrees is not null;

comment on table statistics.studentised_range is '0.95 quantiles of the studentised range';
comment on table statistics.studentised_range_patches is 'Neighbouring quantiles of it, for interpolation';

-- bound arguments
create macro statistics.between(first, last, share) as
    first + (last - first) * share;

-- .95 quantile of the studentised range of `groups` means with df degrees of freedom: linear in 1/df and in ln(groups)
-- between the quantiles of the table, to three digits. Null below two groups and one degree.
create macro statistics.studentised_range_quantile(number_of_groups double, df double) as (
    select statistics.between(
        statistics.between(
            patch.quantile, patch.of_next_degrees, (1 / patch.degrees - 1 / df) / patch.inverse_degrees_apart
        ),
        statistics.between(
            patch.of_next_groups, patch.of_both_next, (1 / patch.degrees - 1 / df) / patch.inverse_degrees_apart
        ),
        ln(number_of_groups / patch.groups) / patch.log_groups_apart
    )
    from statistics.studentised_range_patches as patch
    where
        number_of_groups >= patch.groups and number_of_groups < patch.until_groups
        and df >= patch.degrees and df < patch.until_degrees
);

-- over groups, with the number of values of each: degrees of freedom within groups
create macro statistics.error_degrees(number_of_values double) as
    sum(number_of_values) - count(number_of_values);

-- over groups, with the number of values and their sample variance (null for one value) of each: standard error of a
-- group's mean, from the pooled variance and the harmonic mean of the numbers (Tukey and Kramer). Null if no group has
-- two values. Multiplied by the quantile it is the largest spread of means by chance.
create macro statistics.error_of_means(number_of_values double, sample_variance double) as
    sqrt(
        list_sum(statistics.in_order((number_of_values - 1) * coalesce(sample_variance, 0)))
        / nullif(sum(number_of_values) - count(number_of_values), 0)
        * list_avg(statistics.in_order(1 / number_of_values))
    );
