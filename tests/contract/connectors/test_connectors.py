"""What every connector to a real provider owes, each with its own SDK against the same loopback server."""

import asyncio
import email.utils
import pickle
import time
import traceback

import pytest

from biasgrid.catalogs.schema.models import Limits
from biasgrid.tasks.connectors.api import (
    BrokenReply,
    Disconnected,
    KeyRejected,
    ModelUnknown,
    NotConnected,
    QuotaSpent,
    RateLimited,
    ReplyMisplaced,
    RequestRejected,
    ServerFault,
    TimedOut,
    WebPage,
)

pytestmark = pytest.mark.parametrize("provider", ["openai", "azure", "huggingface", "replicate", "http"])


@pytest.mark.parametrize(
    "text",
    [
        "Yes",
        "",
        "  No. \n\n",
        "line\r\nline\n",
        "«Sí», naïve 👩🏽‍⚕️ \u2028 not this",
        '{"Men": "50"}',
        "\t\x7f \u0000",
        "x" * 70000,
        "cut in an emoji \ud83d",
    ],
)
async def test_a_reply_is_kept_byte_for_byte(provider, server, reach, ask, text):
    server.text = text
    reply = await reach(provider).ask(ask())
    assert reply.text == text


async def test_a_key_that_a_server_repeats_never_lands(provider, server, reach, ask, key):
    server.text = f"I was asked with Authorization: Bearer {key}."
    assert (await reach(provider).ask(ask())).text == "I was asked with Authorization: Bearer [key]."


async def test_a_reply_carries_tokens_and_the_model_that_answered(provider, reach, ask):
    reply = await reach(provider).ask(ask())
    assert (reply.input_tokens, reply.output_tokens) == (11, 7)
    assert reply.model_reported == "answered-by"


ODD = (True, -1, 2**63, 2**4000, 10**30, 0.5, 1e300, [1], {"a": 1}, "many", "x" * 100_013)


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: repr(odd)[:12])
async def test_what_stands_next_to_a_text_never_costs_it(provider, server, reach, ask, odd):
    server.then(server.replies_among(odd), server.replies_among(odd, usage=odd))
    connector = reach(provider)
    replies = [await connector.ask(ask(request)) for request in ("one", "two")]
    for reply in replies:
        assert (reply.text, reply.input_tokens, reply.output_tokens) == ("Yes", None, None)
        assert all(len(label or "") < 300 for label in (reply.finish_reason, reply.model_reported))
        assert len(reply.note or "") < 1000
    assert "was left out" in replies[0].note


async def test_a_label_of_any_length_is_cut_and_identified(provider, server, reach, ask):
    server.then(server.replies_among("x" * 100_013))
    assert (await reach(provider).ask(ask())).model_reported.startswith(
        "x" * 200 + "… (100,013 characters, sha256 "
    )


async def test_a_key_in_a_side_field_never_lands(provider, server, reach, ask, key):
    server.then(server.replies_among(f"asked with {key}"))
    assert key not in str(await reach(provider).ask(ask()))


async def test_set_parameters_go_over_the_wire(provider, server, reach, ask):
    await reach(provider).ask(ask("¿Quién?", temperature=0.7, max_tokens=60, seed=5))
    body = server.received[0].body
    sent = body["input"] if provider == "replicate" else body
    assert (sent["temperature"], sent["max_tokens"], sent["seed"]) == (0.7, 60, 5)
    prompt = sent["prompt"] if provider == "replicate" else sent["messages"]
    assert prompt == ("¿Quién?" if provider == "replicate" else [{"role": "user", "content": "¿Quién?"}])


async def test_a_temperature_of_zero_is_sent(provider, server, reach, ask):
    await reach(provider).ask(ask(temperature=0.0))
    body = server.received[0].body
    assert (body["input"] if provider == "replicate" else body)["temperature"] == 0


async def test_parameters_that_are_unset_or_not_accepted_are_not_sent(provider, server, reach, ask):
    await reach(provider, parameters=("temperature",)).ask(ask(max_tokens=60, seed=5))
    sent = str(server.received[0].body)
    assert not any(name in sent for name in ("temperature", "max_tokens", "max_new_tokens", "seed"))


async def test_the_key_goes_in_the_header_and_nowhere_else(provider, server, reach, ask, key):
    await reach(provider).ask(ask())
    received = server.received[0]
    assert any(key in value for value in received.headers.values())
    assert key not in received.path
    assert key not in str(received.body)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, RequestRejected),
        (401, KeyRejected),
        (402, QuotaSpent),
        (403, KeyRejected),
        (404, ModelUnknown),
        (408, TimedOut),
        (413, RequestRejected),
        (422, RequestRejected),
        (429, RateLimited),
        (500, ServerFault),
        (502, ServerFault),
        (503, ServerFault),
        (504, ServerFault),
    ],
)
async def test_every_status_is_one_error(provider, server, reach, status, kind, refusal):
    server.then(server.fails(status, message="the reason given"))
    error = await refusal(reach(provider))
    assert type(error) is kind
    assert f"`{provider}/" in str(error)
    assert len(server.received) == 1  # no SDK sends it again by itself
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


@pytest.mark.parametrize(
    ("stated", "seconds"),
    [({"Retry-After": "3"}, 3.0), ({"Retry-After": "0.25"}, 0.25), ({}, None), ({"Retry-After": "soon"}, None)],
)
async def test_retry_after_is_read(provider, server, reach, stated, seconds, refusal):
    server.then(server.fails(429, headers=stated))
    error = await refusal(reach(provider))
    assert isinstance(error, RateLimited)
    assert error.retry_after_s == seconds


async def test_retry_after_may_be_a_date(provider, server, reach, refusal):
    date = email.utils.formatdate(time.time() + 20, usegmt=True)
    server.then(server.fails(429, headers={"Retry-After": date}))
    error = await refusal(reach(provider))
    assert isinstance(error, RateLimited)
    assert 15 < error.retry_after_s <= 20


@pytest.mark.parametrize("status", [401, 403, 400, 500])
async def test_an_echoed_key_is_in_no_error(provider, server, reach, key, status, refusal):
    masked = f"{key[:7]}****{key[-4:]}"
    server.then(server.fails(status, message=f"Incorrect key provided: {masked}, that is {key} or {key[3:15]}."))
    error = await refusal(reach(provider))
    shown = str(error) + repr(error) + "".join(traceback.format_exception(error)) + str(error.__context__)
    assert all(part not in shown for part in (key, masked, key[:7], key[-4:], key[3:15]))


async def test_connectors_do_not_show_their_key(provider, reach, key):
    assert key not in repr(reach(provider))


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"", "application/json"),
        (b"  ", "application/json"),
        (b'{"choices": [{"message": {"con', "application/json"),
        (b"\xff\xfe{}", "application/json"),
        (b'{"a":' * 100_000, "application/json"),
        (b"<html><body>Sign in</body></html>", "text/html"),
        (b"Yes", "text/plain"),
    ],
)
async def test_a_body_that_is_no_json_is_the_servers_fault(provider, server, reach, body, content_type, refusal):
    server.then(server.sends(body, content_type))
    error = await refusal(reach(provider))
    assert type(error) is (WebPage if b"html" in body else BrokenReply)
    assert (error.body or "").strip() == ("" if b"html" in body else body.decode(errors="replace").strip())


@pytest.mark.parametrize(
    "body",
    [
        b"null",
        b"[]",
        b"{}",
        b'{"choices": [], "output": {"a": 1}}',
        b'{"choices": [null]}',
        b'{"choices": [{"message": {"content": {"a": 5}}}]}',
        b'{"choices": [{"message": {"content": null}}]}',
    ],
)
async def test_json_that_is_no_completion_is_an_error_of_its_kind(provider, server, reach, body, refusal):
    server.then(server.sends(body))
    is_object = body.startswith(b"{") or provider == "http"  # there a file stated what to expect
    error = await refusal(reach(provider))
    assert type(error) is (ReplyMisplaced if is_object else BrokenReply)
    assert error.body == body.decode()


@pytest.mark.parametrize(
    "body", [b"", b"[1]", b'"no"', b'{"errors": [1]}', b"\xff", b"<p>bad gateway</p>", b"<e>busy</e>"]
)
async def test_an_error_page_in_any_shape_is_still_its_status(provider, server, reach, body, refusal):
    server.then(server.sends(body, status=503))
    error = await refusal(reach(provider))
    assert type(error) is ServerFault
    assert "<" not in str(error)


async def test_a_reply_that_breaks_off_is_the_servers_fault(provider, server, reach, refusal):
    server.then(server.breaks_off())
    assert type(await refusal(reach(provider))) is ServerFault


async def test_a_dropped_connection_is_distinguished_from_a_slow_one(provider, server, reach, refusal):
    server.then(server.drops())
    assert type(await refusal(reach(provider))) is Disconnected


async def test_a_closed_port_is_a_broken_connection(provider, reach, unused_tcp_port, refusal):
    nowhere = reach(provider, base_url=f"http://127.0.0.1:{unused_tcp_port}")
    assert type(await refusal(nowhere)) is NotConnected


async def test_no_answer_in_time_is_timed_out(provider, server, reach, refusal):
    server.then(server.stalls())
    slow = reach(provider, limits=Limits(timeout_s=0.1))
    assert type(await refusal(slow)) is TimedOut


async def test_a_connector_works_on_after_an_error(provider, server, reach, ask, refusal):
    connector = reach(provider)
    server.then(server.drops(), server.fails(500), server.breaks_off())
    for _ in range(3):
        await refusal(connector)
    assert (await connector.ask(ask())).text == "Yes"


async def test_text_that_is_no_unicode_is_rejected_before_it_is_sent(provider, server, reach, ask, refusal):
    assert type(await refusal(reach(provider), ask("\ud800"))) is RequestRejected
    assert server.received == []


async def test_cancellation_passes_through(provider, server, reach, ask):
    server.then(server.stalls())
    asking = asyncio.create_task(reach(provider).ask(ask()))
    await server.reached.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
