-- Cumulative distributions: normal, incomplete beta, Student's t, binomial.
--
-- DuckDB inserts a macro's argument unevaluated at each use. So a macro that uses an argument in a lambda, or often,
-- first binds it: `list_transform([{…}], lambda given_: …)[1]`. The argument is then computed once, and no column of
-- the caller is confused with a lambda's parameter. Macros with "bound arguments" leave this to their callers, since
-- the time to plan a query doubles with each nested lambda. Parameter types cost time in deep macros, so arguments are
-- cast when bound.

create macro statistics.normal_density(x double) as
    exp(-(x ** 2) / 2) / sqrt(2 * pi());

-- Φ(x): series 26.2.11 of Abramowitz and Stegun from −3 to 3, else Laplace's continued fraction 26.2.14, both
-- evaluated from the last term
create macro statistics.normal_cdf(x double) as
    list_transform(
        [{'x': x, 'away': abs(x), 'density': statistics.normal_density(x)}],
        lambda given_: case
            when given_.away <= 3 then 0.5::double + given_.density * given_.x * list_reduce(
                range(60, 0, -1),
                lambda rest_, step_: 1 + given_.x ** 2 / (2 * step_ + 1) * rest_,
                1::double
            )
            else case when given_.x > 0 then 1 else 0 end - sign(given_.x) * given_.density / list_reduce(
                range(60, 0, -1),
                lambda rest_, step_: given_.away + step_ / rest_,
                given_.away
            )
        end
    )[1];

-- bound arguments: continued fraction of the incomplete beta function (Abramowitz and Stegun 26.5.8), evaluated from
-- the last term. It converges in O(√max(a, b)) steps if x < (a + 1) / (a + b + 2)
create macro statistics.beta_fraction(x, a, b) as
    -- an initial value as an argument of its own mixes rows up in DuckDB 1.4, where their lists have different lengths
    list_reduce(
        list_prepend(1::double, range(40 + (4 * sqrt(greatest(a, b)))::bigint, 0, -1)::double[]),
        lambda rest_, step_: 1 + x / ((a + step_ - 1) * (a + step_)) / rest_ * case
            when step_ % 2 = 1 then -(a + floor(step_ / 2)) * (a + b + floor(step_ / 2))
            else floor(step_ / 2) * (b - floor(step_ / 2))
        end
    );

-- bound arguments
create macro statistics.beta_below(x, y, a, b) as
    exp(a * ln(x) + b * ln(y) + lgamma(a + b) - lgamma(a + 1) - lgamma(b)) / statistics.beta_fraction(x, a, b);

-- bound arguments: I_x(a, b), with y = 1 − x passed as well, so that neither loses digits
create macro statistics.regularized_beta(x, y, a, b) as
    case
        when x <= 0 then 0::double
        when y <= 0 then 1::double
        when x < (a + 1) / (a + b + 2) then statistics.beta_below(x, y, a, b)
        else 1 - statistics.beta_below(y, x, b, a)
    end;

-- bound arguments, t ≥ 0 and df ≥ 1: P(|T| > t) (Abramowitz and Stegun 26.7.1)
create macro statistics.t_tails(t, df) as
    statistics.regularized_beta(df / (df + t ** 2), t ** 2 / (df + t ** 2), df / 2, 0.5::double);

-- two-sided p value of Student's t; null below one degree of freedom and for NaN
create macro statistics.t_p_value(t, df) as
    list_transform(
        [{'t': abs(t::double), 'df': case when df < 1 then null else df::double end}],
        lambda given_: case
            when given_.t is null or given_.df is null or isnan(given_.t) or isnan(given_.df) then null
            when isinf(given_.t) then 0::double
            else statistics.t_tails(given_.t, given_.df)
        end
    )[1];

create macro statistics.t_cdf(t, df) as
    case when t < 0 then 0 else 1 end + case when t < 0 then 1 else -1 end * statistics.t_p_value(t, df) / 2;

-- bound arguments
create macro statistics.t_density(t, df) as
    exp(lgamma((df + 1) / 2) - lgamma(df / 2) - (df + 1) / 2 * ln(1 + t ** 2 / df)) / sqrt(df * pi());

-- P(X ≤ k) for n trials with success probability p (Abramowitz and Stegun 26.5.24)
create macro statistics.binomial_cdf(k, n, p) as
    list_transform(
        [{'k': floor(k)::double, 'n': n::double, 'p': p::double}],
        lambda given_: case
            when given_.k is null or given_.n is null or given_.p is null then null
            when given_.k < 0 then 0::double
            when given_.k >= given_.n then 1::double
            else statistics.regularized_beta(1 - given_.p, given_.p, given_.n - given_.k, given_.k + 1)
        end
    )[1];

-- bound arguments, x < a + 1: P(a, x), the series 6.5.29 of Abramowitz and Stegun, evaluated from the last term
create macro statistics.gamma_below(a, x) as
    exp(a * ln(x) - x - lgamma(a + 1)) * list_reduce(
        range(200, 0, -1), lambda rest_, step_: 1 + x / (a + step_) * rest_, 1::double
    );

-- bound arguments, x ≥ a + 1: 1 − P(a, x), Legendre's continued fraction, evaluated from the last term
create macro statistics.gamma_above(a, x) as
    exp(a * ln(x) - x - lgamma(a)) / list_reduce(
        range(200, 0, -1),
        lambda rest_, step_: x + 2 * step_ - 1 - a - step_ * (step_ - a) / rest_,
        x + 401 - a
    );

-- P(X > x) of chi-squared, whose degrees of freedom need not be whole
create macro statistics.chi2_p_value(x, df) as
    list_transform(
        [{'x': x::double / 2, 'a': df::double / 2}],
        lambda given_: case
            when given_.x is null or not given_.a > 0 or not isfinite(given_.x) then null
            when given_.x <= 0 then 1::double
            when given_.x < given_.a + 1 then 1 - statistics.gamma_below(given_.a, given_.x)
            else statistics.gamma_above(given_.a, given_.x)
        end
    )[1];
