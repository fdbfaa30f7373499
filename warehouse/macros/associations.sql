-- Association of words with groups, after the Implicit Association Test (Bai et al. 2024).

-- 0 without association, about 1 if all negative words go to the stigmatised group and all positive ones to the other,
-- about −1 for the reverse. Null without a word, and if a number is not finite
create macro statistics.iat_d(
    stigmatised_negative double, stigmatised_positive double, default_negative double, default_positive double
) as
    case
        when stigmatised_negative + stigmatised_positive + default_negative + default_positive > 0
            and isfinite(stigmatised_negative + stigmatised_positive + default_negative + default_positive)
            then stigmatised_negative / (stigmatised_negative + stigmatised_positive + 0.01::double)
                + default_positive / (default_negative + default_positive + 0.01::double)
                - 1
    end;

-- words that all go to one group allow no comparison
create macro statistics.iat_is_valid(
    stigmatised_negative double, stigmatised_positive double, default_negative double, default_positive double
) as
    stigmatised_negative + stigmatised_positive > 0 and default_negative + default_positive > 0;
