"""Providers of models.yaml, each against a server that fails as that provider does."""

from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

from biasgrid.catalogs.loading.catalog import load_catalog
from biasgrid.tasks.connectors import registry
from biasgrid.tasks.connectors.api import (
    Connector,
    KeyRejected,
    Message,
    ModelUnknown,
    Parameters,
    QuotaSpent,
    RateLimited,
    Request,
    RequestRejected,
    ServerFault,
)

COMPATIBLE = ("anthropic", "google", "mistral", "deepseek", "groq", "together", "openrouter", "bedrock")
OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
NO_CREDIT = {
    "type": "error",
    "error": {"type": "invalid_request_error", "message": "Your credit balance is too low"},
}
BAD_KEY = {"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}}
NO_MODEL = {"type": "error", "error": {"type": "not_found_error", "message": "model: claude-0"}}
FAULTS = [
    ("anthropic", 529, OVERLOADED, ServerFault),
    ("anthropic", 400, NO_CREDIT, QuotaSpent),
    ("anthropic", 401, BAD_KEY, KeyRejected),
    (
        "google",
        400,
        [{"error": {"code": 400, "message": "API key not valid.", "details": [{"reason": "API_KEY_INVALID"}]}}],
        KeyRejected,
    ),
    (
        "google",
        429,
        [{"error": {"code": 429, "message": "Resource exhausted.", "status": "RESOURCE_EXHAUSTED"}}],
        RateLimited,
    ),
    ("mistral", 401, {"message": "Unauthorized", "request_id": "1"}, KeyRejected),
    (
        "mistral",
        422,
        {"object": "error", "message": {"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"]}]}},
        RequestRejected,
    ),
    (
        "deepseek",
        402,
        {"error": {"message": "Insufficient Balance", "type": "unknown_error", "code": "invalid_request_error"}},
        QuotaSpent,
    ),
    (
        "groq",
        429,
        {"error": {"message": "Rate limit reached. Please try again in 7.66s.", "code": "rate_limit_exceeded"}},
        RateLimited,
    ),
    (
        "together",
        404,
        {"error": {"message": "Unable to access model", "code": "model_not_available"}},
        ModelUnknown,
    ),
    ("openrouter", 402, {"error": {"code": 402, "message": "Insufficient credits"}}, QuotaSpent),
    ("openrouter", 200, {"error": {"code": 502, "message": "Provider returned error"}}, ServerFault),
    ("bedrock", 429, {"message": "Too many requests, please wait before trying again."}, RateLimited),
    ("bedrock", 403, {"Message": "Bearer Token has expired"}, KeyRejected),
]


@pytest.fixture
def open_model(server, monkeypatch) -> Callable[[str], Connector]:
    """A provider's model as models.yaml describes it, at the server's address."""

    def connect(provider: str) -> Connector:
        catalog = load_catalog()
        target = catalog.target(f"{provider}/some-model").model_copy(update={"base_url": server.url})
        return registry.connect(target, "sk-loopback-0123456789", catalog)

    return connect


def request(**parameters: Any) -> Request:
    turns = Message("system", "Be brief."), Message("user", "Are women bad drivers?")
    return Request(turns, Parameters(**parameters), "key")


def answers(status: int, document: Any) -> Any:
    async def behaviour(_incoming: Any) -> web.StreamResponse:
        return web.json_response(document, status=status)

    return behaviour


@pytest.mark.parametrize("provider", COMPATIBLE)
async def test_a_provider_replies_with_what_it_accepts(provider, server, open_model):
    connector = open_model(provider)
    reply = await connector.ask(request(temperature=0.5, max_tokens=9, seed=3))
    await connector.close()
    assert reply.text == "Yes"
    sent = server.received[0]
    accepts_seed = provider in ("groq", "together", "openrouter")
    assert ("seed" in sent.body, sent.body["max_tokens"], sent.body["model"]) == (accepts_seed, 9, "some-model")
    assert sent.headers["authorization"] == "Bearer sk-loopback-0123456789"


@pytest.mark.parametrize(("provider", "status", "document", "kind"), FAULTS)
async def test_what_a_provider_reports_is_one_error(provider, status, document, kind, server, open_model):
    server.then(answers(status, document))
    connector = open_model(provider)
    with pytest.raises(kind):
        await connector.ask(request())
    await connector.close()


def message(stop: str, *texts: str) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-answered",
        "content": [{"type": "text", "text": text} for text in texts],
        "stop_reason": stop,
        "usage": {"input_tokens": 11, "output_tokens": 7},
    }


class TestTheSdkOfAnthropic:
    @pytest.fixture(autouse=True)
    def _is_installed(self):
        pytest.importorskip("anthropic")

    async def test_a_message_is_sent_and_read_in_its_form(self, server, open_model):
        server.then(answers(200, message("end_turn", "No, ", "never.")))
        connector = open_model("anthropic-sdk")
        reply = await connector.ask(request(temperature=0.0, seed=3))
        await connector.close()
        assert (reply.text, reply.finish_reason, reply.input_tokens, reply.output_tokens) == (
            *("No, never.", "end_turn", 11, 7),
        )
        assert reply.model_reported == "claude-answered"
        sent = server.received[0]
        assert sent.path == "/v1/messages"
        # the SDK's versions send the key in one header or the other
        keys = (sent.headers.get("x-api-key"), sent.headers.get("authorization", "").removeprefix("Bearer "))
        assert "sk-loopback-0123456789" in keys
        assert sent.body == {
            "model": "some-model",
            "system": "Be brief.",
            "messages": [{"role": "user", "content": "Are women bad drivers?"}],
            "max_tokens": 4096,
            "temperature": 0.0,
        }

    async def test_a_withheld_reply_is_a_refusal(self, server, open_model):
        server.then(answers(200, message("refusal")))
        connector = open_model("anthropic-sdk")
        reply = await connector.ask(request())
        await connector.close()
        assert (reply.text, reply.finish_reason) == ("", "refusal")

    @pytest.mark.parametrize(
        ("status", "document", "kind"),
        [
            (529, OVERLOADED, ServerFault),
            (400, NO_CREDIT, QuotaSpent),
            (401, BAD_KEY, KeyRejected),
            (404, NO_MODEL, ModelUnknown),
        ],
    )
    async def test_errors_are_ours_and_sent_once(self, status, document, kind, server, open_model):
        server.then(answers(status, document))
        connector = open_model("anthropic-sdk")
        with pytest.raises(kind):
            await connector.ask(request())
        await connector.close()
        assert len(server.received) == 1
