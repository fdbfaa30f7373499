"""Errors quote a provider's message on one line, without a trace of a key."""

from datetime import UTC, datetime

import pytest

from biasgrid.tasks.connectors.api import RateLimited, ServerFault
from biasgrid.tasks.connectors.client.error_mapping import ErrorMapper, redact, retry_after_s

KEY = "sk-proj-a1B2c3D4e5F6g7H8"


@pytest.mark.parametrize(
    "echo",
    [KEY, f"Bearer {KEY}", KEY[:12], KEY[-8:], "sk-pr***********g7H8", "sk-pr…g7H8", "hf_abcdefghij", f'"{KEY}"'],
)
def test_no_shape_of_a_key_is_quoted(echo):
    shown = redact(f"Incorrect API key provided: {echo}. You can find it in your settings.", KEY)
    assert "settings" in shown
    assert "[key]" in shown
    assert not any(KEY[at : at + 6] in shown for at in range(len(KEY) - 5))


def test_ordinary_words_are_quoted_as_they_are():
    words = "This model's maximum context length is 4096 tokens (see model-4...); reduce your prompt."
    assert redact("Invalid 'temperature': must be <= 2.0", KEY) == "Invalid 'temperature': must be <= 2.0"
    assert redact(words, "") == words


def test_what_a_provider_states_is_cut_to_one_short_line():
    shown = redact("too\nlong " * 200, KEY)
    assert "\n" not in shown
    assert len(shown) == 300


def test_what_steers_a_terminal_is_not_quoted():
    words = "no\x1b[2J\x07 \u202egood\u200b\ud83d\x00 fit\nat\tall"
    assert redact(words, "") == "no[2J good fit at all"


def test_a_key_is_not_hidden_by_what_is_not_shown():
    assert redact(f"{KEY[:6]}\u200b{KEY[6:]} is wrong", KEY) == "[key] is wrong"


def test_an_error_names_model_and_remedy(target):
    faults = ErrorMapper(target("openai", "http://127.0.0.1:1"), KEY)
    assert "`SOME_API_KEY`" in str(faults.status(401, {}, b"{}"))
    assert "base URL" in str(faults.status(404, {}, b"{}"))
    assert "credit" in str(faults.status(402, {}, b"{}"))


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "20"}, 20.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after-ms": "350", "retry-after": "1"}, 0.35),
        ({"retry-after": "Thu, 01 Jan 2026 00:00:30 GMT"}, 30.0),
        ({"retry-after": "Thu, 01 Jan 2026 00:00:30 -0000"}, 30.0),
        ({"retry-after": "Wed, 31 Dec 2025 00:00:00 GMT"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "in a while"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_retry_after_in_every_form(headers, seconds):
    assert retry_after_s(headers, now=datetime(2026, 1, 1, tzinfo=UTC)) == seconds


@pytest.mark.parametrize("status", [503, 529])
def test_an_overloaded_server_that_states_when_to_come_back_has_refused(target, status):
    faults = ErrorMapper(target("openai", "http://127.0.0.1:1"), KEY)
    refused = faults.status(status, {"retry-after": "7"}, b"{}")
    assert isinstance(refused, RateLimited)
    assert refused.retry_after_s == 7
    assert isinstance(faults.status(status, {}, b"{}"), ServerFault)
