-- Which words go to which group, after the Implicit Association Test (Bai et al. 2024).

-- 0 where no association shows, about 1 where all negative words go to the stigmatised group and all positive ones to
-- the other, about −1 the other way round
create macro statistics.iat_d(
    stigmatised_negative double, stigmatised_positive double, default_negative double, default_positive double
) as
    stigmatised_negative / (stigmatised_negative + stigmatised_positive + 0.01::double)
    + default_positive / (default_negative + default_positive + 0.01::double)
    - 1;

-- words that all go to one group compare nothing
create macro statistics.iat_is_valid(
    stigmatised_negative double, stigmatised_positive double, default_negative double, default_positive double
) as
    stigmatised_negative + stigmatised_positive > 0 and default_negative + default_positive > 0;
