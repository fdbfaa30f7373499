"""Limits, by a clock that the test winds."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from biasgrid.catalogs.schema.respondents import RequestLimits
from biasgrid.tasks.connectors.simulated.fault_injection import Meter, format_duration, limit_headers


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


def meter(clock: Clock, **limits: float) -> Meter:
    return Meter(RequestLimits.model_validate(limits), clock)


def test_who_states_no_limits_lets_everybody_in():
    unlimited = meter(Clock())
    assert all(unlimited.admit(10**9) == 0 for _ in range(100))
    assert unlimited.standings() == {}


def test_a_minute_s_worth_comes_at_once_and_then_one_at_a_time():
    clock = Clock()
    limited = meter(clock, requests_per_minute=60)
    assert [limited.admit(1) for _ in range(60)] == [0.0] * 60
    assert limited.admit(1) == pytest.approx(1.0)
    clock.now += 1.0
    assert limited.admit(1) == 0
    assert limited.admit(1) > 0


def test_over_ten_minutes_a_respondent_takes_its_rate_and_its_burst_however_often_it_is_asked():
    clock = Clock()
    limited, taken = meter(clock, requests_per_minute=120, burst_s=5), 0
    for _ in range(6000):
        taken += limited.admit(1) == 0
        clock.now += 0.1
    assert taken == pytest.approx(120 * 10 + 10, abs=2)


def test_tokens_are_limited_too_and_a_request_that_is_refused_costs_neither():
    clock = Clock()
    limited = meter(clock, requests_per_minute=600, tokens_per_minute=600)
    assert limited.admit(590) == 0
    assert limited.admit(20) == pytest.approx(1.0)
    assert limited.standings()["requests"].remaining == 599
    assert limited.admit(10) == 0


def test_a_request_of_more_tokens_than_a_burst_holds_waits_for_a_full_bucket_only():
    clock = Clock()
    limited = meter(clock, tokens_per_minute=60, burst_s=10)
    assert limited.admit(25) == 0
    assert limited.admit(1) == pytest.approx(16.0)  # fifteen that are owed, one that is asked for


def test_what_is_left_is_stated_as_openai_does():
    clock = Clock()
    limited = meter(clock, requests_per_minute=60, tokens_per_minute=6000)
    limited.admit(100)
    assert limit_headers(limited.standings()) == {
        "x-ratelimit-limit-requests": "60",
        "x-ratelimit-remaining-requests": "59",
        "x-ratelimit-reset-requests": "1s",
        "x-ratelimit-limit-tokens": "6000",
        "x-ratelimit-remaining-tokens": "5900",
        "x-ratelimit-reset-tokens": "1s",
    }


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (0.0004, "0s"),
        (0.12, "120ms"),
        (1, "1s"),
        (6.5, "6.5s"),
        (60, "1m0s"),
        (90.25, "1m30.25s"),
        (3600, "1h0m0s"),
    ],
)
def test_durations_are_written_as_go_writes_them(seconds, text):
    assert format_duration(seconds) == text
