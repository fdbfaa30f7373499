"""The second request to a server follows the first one, which the SDK built: it is sent and read alike."""

import gzip
import json

import pytest

from biasgrid.tasks.connectors.api import (
    BrokenReply,
    Disconnected,
    KeyRejected,
    RateLimited,
    RequestRejected,
    ServerFault,
    TimedOut,
    WebPage,
)

again = pytest.mark.parametrize("provider", ["openai", "azure"])


@pytest.fixture
def known(reach, ask):
    """A connector that has had a reply."""

    async def make(provider, **changes):
        connector = reach(provider, **changes)
        await connector.ask(ask("first"))
        return connector

    return make


@again
async def test_it_is_sent_where_and_as_the_first_was_but_for_what_is_asked(provider, server, known, ask):
    await (await known(provider)).ask(ask("Are nurses women? ¿Sí?", temperature=0.5, max_tokens=9))
    first, second = server.received
    assert second.path == first.path
    assert second.body["messages"] == [{"role": "user", "content": "Are nurses women? ¿Sí?"}]
    assert (second.body["temperature"], second.body["max_tokens"]) == (0.5, 9)
    shown = second.headers.pop("content-length")
    assert int(shown) == len(json.dumps(second.body, ensure_ascii=False, separators=(",", ":")).encode())
    first.headers.pop("content-length")
    assert second.headers == first.headers


@again
@pytest.mark.parametrize(
    ("status", "kind"), [(401, KeyRejected), (429, RateLimited), (500, ServerFault), (400, RequestRejected)]
)
async def test_a_refusal_is_read_from_status_and_headers(provider, server, known, refusal, status, kind):
    connector = await known(provider)
    server.then(server.fails(status, headers={"Retry-After": "7"}))
    error = await refusal(connector)
    assert type(error) is kind
    assert getattr(error, "retry_after_s", 7) == 7


@again
async def test_bodies_that_are_none_and_connections_that_break_are_distinguished(provider, server, known, refusal):
    connector = await known(provider, limits={"timeout_s": 0.3})
    server.then(
        server.sends(b""),
        server.sends(b"<html>busy</html>", "text/html"),
        server.sends(b"[1]"),
        server.breaks_off(),
        server.drops(),
        server.stalls(),
    )
    kinds = [type(await refusal(connector)) for _ in range(6)]
    assert kinds == [BrokenReply, WebPage, BrokenReply, ServerFault, Disconnected, TimedOut]


@again
async def test_what_is_compressed_mislabelled_or_not_quite_json_is_still_read(provider, server, known, ask):
    from aiohttp import web

    connector = await known(provider)
    choice = b'{"finish_reason": "stop", "logprobs": NaN, "message": {"role": "assistant", "content": "No"}}'
    body = b'{"choices": [' + choice + b"]}"

    async def compressed(received):
        return web.Response(body=gzip.compress(body), headers={"Content-Encoding": "gzip"})

    server.then(server.sends(body, "text/plain"), compressed)
    assert [(await connector.ask(ask(text))).text for text in ("one", "two")] == ["No", "No"]


@again
async def test_where_the_server_points_elsewhere_the_sdk_follows(provider, server, known, ask):
    from aiohttp import web

    connector = await known(provider)

    async def elsewhere(received):
        return web.Response(status=307, headers={"Location": received.path})

    server.then(elsewhere, elsewhere)
    assert (await connector.ask(ask("moved"))).text == "Yes"
    assert (await connector.ask(ask("and once more"))).text == "Yes"


@again
async def test_what_cannot_be_sent_is_rejected_before_it_is(provider, server, known, refusal, ask):
    connector = await known(provider)
    assert type(await refusal(connector, ask("half an emoji \ud83d"))) is RequestRejected
    assert len(server.received) == 1


@again
async def test_a_filtered_prompt_is_a_refusal_here_too(provider, server, known, ask):
    connector = await known(provider)
    server.then(server.fails(400, code="content_filter"))
    assert (await connector.ask(ask("second"))).finish_reason == "content_filter"
