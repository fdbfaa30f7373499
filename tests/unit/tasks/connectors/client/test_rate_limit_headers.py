"""What servers state about their limits, in either of two families of headers."""

import pytest

from biasgrid.tasks.connectors.client.rate_limit_headers import StatedLimits, read_duration_s, read_stated_limits


def openai(limit, remaining, reset, unit="requests"):
    return {
        f"x-ratelimit-limit-{unit}": limit,
        f"x-ratelimit-remaining-{unit}": remaining,
        f"x-ratelimit-reset-{unit}": reset,
    }


@pytest.mark.parametrize(
    ("stated", "seconds"),
    [("1s", 1.0), ("6m0s", 360.0), ("120ms", 0.12), ("1h2m3.5s", 3723.5), ("2", 2.0), ("1d", 86_400.0)],
)
def test_durations_as_servers_write_them(stated, seconds):
    assert read_duration_s(stated) == pytest.approx(seconds)


@pytest.mark.parametrize("stated", [None, "", "soon", "-1s", "1 s", "nan", "s", "1w"])
def test_what_is_no_duration_states_nothing(stated):
    assert read_duration_s(stated) is None


def test_openais_headers_state_requests_and_tokens_a_minute():
    headers = openai("500", "499", "120ms") | openai("30000", "29500", "1s", "tokens")
    assert read_stated_limits(headers) == StatedLimits(500, 30_000)


def test_nothing_left_holds_back_until_the_reset():
    assert read_stated_limits(openai("60", "0", "42s")).hold_s == 42
    assert read_stated_limits(openai("60", "60", "1s") | openai("1000", "0", "7s", "tokens")).hold_s == 7


def test_where_some_comes_back_each_second_no_one_waits_until_all_is_back():
    assert read_stated_limits(openai("1200", "0", "1m0s")).hold_s == 1
    assert read_stated_limits(openai("60", "0", "60.000s")).hold_s == 1


def test_a_days_quota_is_no_limit_of_a_minute():
    assert read_stated_limits(openai("10000", "9999", "8.64s")) == StatedLimits()
    assert read_stated_limits(openai("14400", "0", "24h0m0s")) == StatedLimits()


@pytest.mark.parametrize(
    ("policy", "per_minute"),
    [
        ('"default";q=100;w=60', 100),
        ('"burst";q=5;w=1, "minute";q=200;w=60', 200),
        ("minute;q=10;w=30;pk=:abc:", 20),
        ('"a,b;q=1";q=90;w=60', 90),
        ('"default";q=100;w=60;qu="content-bytes"', None),
        ('"day";q=1000;w=86400', None),
        ('"default";q=many;w=60', None),
        ('"default";q=5', None),
        ("", None),
        (";;;,,,=", None),
    ],
)
def test_the_ietfs_policy_states_a_quota_in_a_window(policy, per_minute):
    assert read_stated_limits({"ratelimit-policy": policy}).requests_per_minute == per_minute


def test_the_ietfs_limit_states_what_is_left():
    policy = {"ratelimit-policy": '"default";q=100;w=60'}
    assert read_stated_limits(policy | {"ratelimit": '"default";r=0;t=12'}) == StatedLimits(100, None, 12)
    assert read_stated_limits(policy | {"ratelimit": '"default";r=50;t=12'}) == StatedLimits(100)


@pytest.mark.parametrize("stated", ["", "none", "-5", "inf", "0", "1e999"])
def test_a_limit_that_makes_no_sense_is_ignored(stated):
    assert read_stated_limits(openai(stated, "1", "1s")) == StatedLimits()


def test_most_replies_state_nothing():
    assert read_stated_limits({"content-type": "application/json"}) == StatedLimits()
