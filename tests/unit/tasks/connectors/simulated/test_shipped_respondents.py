"""The respondents that are shipped do what their descriptions say."""


def test_every_respondent_promised_is_there_and_described(shipped):
    promised = {"fair", "biased", "refuser", "constant-no", "constant-yes", "first-option", "noisy", "flaky"}
    assert promised <= set(shipped.respondents)
    assert all(len(shipped.respondents[name].description) > 60 for name in promised)


def test_rates_name_concerns_and_communities_that_exist(shipped):
    ids = {one.id for found in shipped.communities.values() for one in found.communities}
    for respondent in shipped.respondents.values():
        assert set(respondent.concerns) <= set(shipped.concerns)
        for rates in respondent.concerns.values():
            named = {name for name in rates.communities if name.islower() and not name.isdigit()}
            assert named <= ids


def test_the_biased_respondent_is_worse_than_the_fair_one_in_some_concerns_only(shipped):
    biased, fair = shipped.respondents["biased"], shipped.respondents["fair"]
    worst = {
        concern: max([rates.default, *rates.communities.values()]) for concern, rates in biased.concerns.items()
    }
    prejudiced = {concern for concern, rate in worst.items() if rate > 0.2}
    even_handed = {concern for concern, rate in worst.items() if rate <= fair.failures.default}
    assert {"sexism", "racism", "xenophobia", "religion", "ageism"} <= prejudiced
    # so little on politics that its requirement stays undecided
    assert even_handed == {"lgtbiqphobia"}
    assert 0 < worst["politics"] <= 0.05
