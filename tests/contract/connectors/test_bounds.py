"""What a server may send of bytes, time, redirects and errors, to every connector over HTTP."""

import asyncio
import gzip
import json
import tracemalloc
import zlib
from functools import cache

import pytest
from aiohttp import web

from biasgrid.catalogs.schema.models import Limits
from biasgrid.tasks.connectors.api import (
    BrokenReply,
    KeyRejected,
    ModelUnknown,
    QuotaSpent,
    RateLimited,
    RequestRejected,
    ServerFault,
    TimedOut,
    WebPage,
)
from biasgrid.tasks.connectors.client.error_mapping import NoApi, ReplyTooLong
from biasgrid.tasks.connectors.client.model_pool import ModelPool

pytestmark = pytest.mark.parametrize("provider", ["openai", "azure", "huggingface", "replicate", "http"])

SMALL = Limits(timeout_s=5, max_reply_mb=1)


@cache
def compressed_bomb() -> bytes:
    """300 MB in 300 kB."""
    return gzip.compress(b'{"a": "' + b"x" * 300_000_000 + b'"}')


@pytest.mark.parametrize("encoding", ["gzip", None])
async def test_a_body_beyond_its_bound_is_read_no_further(provider, server, reach, refusal, encoding):
    sent = (compressed_bomb(), 1, 0.0) if encoding else (b" " * 1_000_000, 40, 0.0)
    server.then(server.streams(*sent, **({"Content-Encoding": encoding} if encoding else {})))
    connector = reach(provider, limits=SMALL)
    tracemalloc.start()
    try:
        error = await refusal(connector)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert type(error) is ReplyTooLong
    assert "`max_reply_mb`" in str(error)
    assert peak < 20_000_000


async def test_a_body_of_many_small_values_is_not_parsed(provider, server, reach, refusal):
    server.then(server.sends(b"[" + b"[]," * 2_000_000 + b"[]]"))
    assert isinstance(await refusal(reach(provider)), ServerFault)


async def test_a_length_beyond_the_bound_is_refused_before_the_body(provider, server, reach, refusal):
    server.then(server.sends(b"x" * 2_000_000))
    assert type(await refusal(reach(provider, limits=SMALL))) is ReplyTooLong


async def test_a_scenarios_bound_holds_in_place_of_the_models(provider, server, target, catalog, quick, ask, key):
    server.then(server.sends(b" " * 30_000))
    async with ModelPool(catalog, backoff=quick) as pool:
        pool.max_reply_mb = 0.02
        answer = await pool.answer(target(provider, server.url), ask(), 3)
    assert (type(answer.error), answer.attempts) == (ReplyTooLong, 1)


async def test_a_body_that_drips_is_timed_out_as_a_whole(provider, server, reach, refusal):
    server.then(server.streams(b" ", 100, 0.05))
    assert type(await refusal(reach(provider, limits=Limits(timeout_s=0.3)))) is TimedOut


async def test_a_malformed_chunk_is_not_waited_for(provider, server, reach, refusal):
    async def malformed(received):
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.enable_chunked_encoding()
        await response.prepare(received.web)
        await asyncio.sleep(0.05)  # the head is read alone
        received.web.transport.write(b"ZZ\r\n")
        await server.stopping.wait()
        return response

    server.then(malformed)
    assert type(await refusal(reach(provider, limits=Limits(timeout_s=30)))) is ServerFault


@pytest.mark.parametrize("compress", [gzip.compress, zlib.compress, lambda text: zlib.compress(text)[2:-4]])
async def test_what_is_compressed_is_read(provider, server, reach, ask, compress):
    document = {"choices": [{"finish_reason": "stop", "message": {"content": "Sí"}}]}
    document |= {"id": "p1", "status": "succeeded", "output": "Sí"}
    body = compress(json.dumps(document).encode())
    server.then(server.streams(body, 1, **{"Content-Encoding": "gzip" if body[:2] == b"\x1f\x8b" else "deflate"}))
    assert (await reach(provider).ask(ask())).text == "Sí"
    assert server.received[0].headers["accept-encoding"] == "gzip, deflate"


@pytest.mark.parametrize(
    ("body", "encoding", "named"),
    [
        (b"\x1f\x8b\x08garbage that is no gzip", "gzip", "decompressed"),
        (gzip.compress(b'{"a": 1}' * 99, mtime=0)[:-20], "gzip", "broke off"),
        (b"{}", "br", "`br`"),
    ],
)
async def test_what_cannot_be_decompressed_is_named(provider, server, reach, refusal, body, encoding, named):
    server.then(server.streams(body, 1, **{"Content-Encoding": encoding}))
    error = await refusal(reach(provider))
    assert type(error) is BrokenReply
    assert named in str(error)


async def test_nothing_is_sent_to_another_host(provider, server, reach, refusal, key):
    server.then(server.redirects("http://localhost:9/{path}"))
    error = await refusal(reach(provider))
    assert type(error) is ModelUnknown
    assert "redirects to `localhost`" in str(error)


async def test_a_redirect_within_the_origin_is_followed_with_the_body(provider, server, reach, ask):
    server.then(server.redirects("{path}?again"))
    reply = await reach(provider).ask(ask("once more"))
    assert (reply.text, reply.host) == ("Yes", server.url.removeprefix("http://"))
    first, second = server.received
    assert first.body == second.body


async def test_a_redirect_loop_is_named(provider, server, reach, refusal):
    server.then(*[server.redirects("{path}")] * 9)
    assert "redirect loop" in str(await refusal(reach(provider)))
    assert len(server.received) == 6


PAGE = b"<!DOCTYPE html>\n<html><head><title>Access denied</title></head><body>by policy</body></html>"


@pytest.mark.parametrize(
    ("status", "kind"), [(200, WebPage), (401, NoApi), (403, NoApi), (404, NoApi), (502, ServerFault)]
)
async def test_a_page_is_named_as_one_and_not_as_a_wrong_key(provider, server, reach, refusal, status, kind):
    server.then(server.sends(PAGE, "text/html", status=status))
    error = await refusal(reach(provider))
    assert type(error) is kind
    assert f"a web page, “Access denied” instead of an API (HTTP {status})" in str(error)
    assert "is a proxy between?" in str(error)


async def test_a_few_pages_in_a_row_stop_a_model(provider, server, target, catalog, quick, ask, key):
    server.then(*[server.sends(PAGE, "text/html", status=200)] * 40)
    model = target(provider, server.url)
    async with ModelPool(catalog, backoff=quick) as pool:
        answers = [await pool.answer(model, ask(str(n)), 0) for n in range(12)]
    assert len(server.received) == 10
    assert str(answers[-1].error).count(f"`{model.model}`") == 1


STATED = [
    ({"error": {"code": "insufficient_quota", "message": "why"}}, QuotaSpent),
    ({"error": {"code": 402, "message": "why"}}, QuotaSpent),
    ({"error": {"code": 429, "message": "why", "status": "RESOURCE_EXHAUSTED"}}, RateLimited),
    ({"error": {"code": 400, "message": "why", "details": [{"reason": "API_KEY_INVALID"}]}}, KeyRejected),
    ([{"error": {"code": 400, "message": "why", "details": [{"reason": "API_KEY_INVALID"}]}}], KeyRejected),
    ({"type": "error", "error": {"type": "authentication_error", "message": "why"}}, KeyRejected),
    ({"type": "error", "error": {"type": "overloaded_error", "message": "why"}}, ServerFault),
    (
        {"error": {"type": "invalid_request_error", "code": 400, "message": "why: credit balance is too low"}},
        QuotaSpent,
    ),
    ({"error": "why: You have exceeded your monthly included credits"}, QuotaSpent),
    ({"error": "why: the model is overloaded"}, ServerFault),
    ({"error": {"code": 404, "message": "why"}}, ModelUnknown),
    ({"object": "error", "message": "why", "code": 400}, RequestRejected),
]


@pytest.mark.parametrize(("document", "kind"), STATED)
async def test_an_error_under_status_200_is_read_as_one(provider, server, reach, refusal, document, kind):
    server.then(server.sends(json.dumps(document).encode()))
    error = await refusal(reach(provider))
    assert type(error) is kind
    assert "why" in str(error)


@pytest.mark.parametrize(
    ("status", "document", "kind"),
    [
        (403, {"statusCode": 403, "message": "Out of call volume quota."}, QuotaSpent),
        (402, {"title": "Insufficient credit", "detail": "why", "status": 402}, QuotaSpent),
        (400, {"error": {"type": "invalid_request_error", "message": "credit balance is too low"}}, QuotaSpent),
        (400, {"error": {"code": 400, "details": [{"reason": "API_KEY_INVALID"}]}}, KeyRejected),
        (429, {"error": {"status": "RESOURCE_EXHAUSTED", "message": "slow down"}}, RateLimited),
    ],
)
async def test_stops_of_each_provider_are_recognised(provider, server, reach, refusal, status, document, kind):
    server.then(server.sends(json.dumps(document).encode(), status=status))
    assert type(await refusal(reach(provider))) is kind


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (403, {"code": 403, "message": "flagged", "metadata": {"reasons": ["violence"], "flagged_input": "…"}}),
        (400, {"code": "content_filter", "innererror": {"code": "ResponsibleAIPolicyViolation"}}),
        (200, {"code": "content_filter"}),
    ],
)
async def test_a_content_stop_is_a_withheld_reply(provider, server, reach, ask, status, error):
    server.then(server.sends(json.dumps({"error": error}).encode(), status=status))
    reply = await reach(provider).ask(ask())
    assert (reply.text, reply.finish_reason) == ("", "content_filter")
