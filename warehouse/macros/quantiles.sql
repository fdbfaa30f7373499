-- Quantiles: normal, Student's t.

-- of a bound x: coefficients from the highest power down
create macro statistics.polynomial(x, coefficients) as
    list_reduce(coefficients, lambda sum_, coefficient_: sum_ * x + coefficient_);

-- Wichura, Algorithm AS 241 (Applied Statistics 37, 1988), PPND16. Bound argument q = p − ½, |q| ≤ .425
create macro statistics.normal_quantile_central(q) as
    q * statistics.polynomial(0.180625::double - q * q, [
        2.5090809287301226727e+3, 3.3430575583588128105e+4, 6.7265770927008700853e+4, 4.5921953931549871457e+4,
        1.3731693765509461125e+4, 1.9715909503065514427e+3, 1.3314166789178437745e+2, 3.3871328727963666080e+0
    ]) / statistics.polynomial(0.180625::double - q * q, [
        5.2264952788528545610e+3, 2.8729085735721942674e+4, 3.9307895800092710610e+4, 2.1213794301586595867e+4,
        5.3941960214247511077e+3, 6.8718700749205790830e+2, 4.2313330701600911252e+1, 1e0
    ]);

-- tails: r = √(−ln of the tail), up to 5
create macro statistics.normal_quantile_outer(r) as
    statistics.polynomial(r - 1.6::double, [
        7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1, 1.27045825245236838258e+0,
        3.64784832476320460504e+0, 5.76949722146069140550e+0, 4.63033784615654529590e+0, 1.42343711074968357734e+0
    ]) / statistics.polynomial(r - 1.6::double, [
        1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2, 1.48103976427480074590e-1,
        6.89767334985100004550e-1, 1.67638483018380384940e+0, 2.05319162663775882187e+0, 1e0
    ]);

-- tails: r above 5
create macro statistics.normal_quantile_far(r) as
    statistics.polynomial(r - 5, [
        2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3, 2.65321895265761230930e-2,
        2.96560571828504891230e-1, 1.78482653991729133580e+0, 5.46378491116411436990e+0, 6.65790464350110377720e+0
    ]) / statistics.polynomial(r - 5, [
        2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5, 7.86869131145613259100e-4,
        1.48753612908506148525e-2, 1.36929880922735805310e-1, 5.99832206555887937690e-1, 1e0
    ]);

-- Φ⁻¹(p); null outside 0 < p < 1
create macro statistics.normal_quantile(p) as
    list_transform(
        [{'q': p::double - 0.5::double, 'r': case when p > 0 and p < 1 then sqrt(-ln(least(p, 1 - p)::double)) end}],
        lambda given_: case
            when given_.r is null then null
            when abs(given_.q) <= 0.425 then statistics.normal_quantile_central(given_.q)
            when given_.r <= 5 then sign(given_.q) * statistics.normal_quantile_outer(given_.r)
            else sign(given_.q) * statistics.normal_quantile_far(given_.r)
        end
    )[1];

-- bound arguments: Student's t from the normal quantile z, Abramowitz and Stegun 26.7.5; the error falls with df⁵
create macro statistics.t_expansion(z, df) as
    z + statistics.polynomial(1 / df, [
        (79 * z ** 9 + 776 * z ** 7 + 1482 * z ** 5 - 1920 * z ** 3 - 945 * z) / 92160,
        (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / 384,
        (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96,
        (z ** 3 + z) / 4,
        0
    ]);

-- Newton's method on the upper tail, started from the expansion; from 1,000 degrees of freedom the expansion is exact
-- enough. Null outside 0 < p < 1 and below one degree of freedom
create macro statistics.t_quantile(p, df) as
    list_transform(
        [{
            'sign': sign(p - 0.5::double),
            'p': greatest(p, 1 - p)::double,
            'z': statistics.normal_quantile(greatest(p, 1 - p)),
            'df': case when df < 1 then null else df::double end
        }],
        lambda given_: given_.sign * case
            when given_.z is null or given_.df is null then null
            when given_.df = 1 then tan(pi() * (given_.p - 0.5::double))
            when given_.df = 2 then (2 * given_.p - 1) / sqrt(2 * given_.p * (1 - given_.p))
            else list_reduce(
                list_prepend(
                    statistics.t_expansion(given_.z, given_.df),
                    range(case when given_.df < 10 then 10 when given_.df < 1000 then 3 else 0 end)::double[]
                ),
                lambda t_, step_: t_ + (statistics.t_tails(t_, given_.df) / 2 - (1 - given_.p))
                    / statistics.t_density(t_, given_.df)
            )
        end
    )[1];
