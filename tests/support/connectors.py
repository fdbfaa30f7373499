"""A loopback server that speaks four providers' protocols and does next what a test scripts."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.endpoints import Endpoint
from biasgrid.catalogs.schema.models import Limits, ModelsFile, Target
from biasgrid.tasks.connectors import registry
from biasgrid.tasks.connectors.api import Connector, ConnectorError, Message, Parameters, Reply, Request
from biasgrid.tasks.connectors.client.retry import Backoff
from support.http_server import serving

KEY = "hf_qX7vT2mK9wLp4RzN8cJd5bYs"  # of a hosted token's shape; opens nothing
Behaviour = Callable[["ReceivedRequest"], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class ReceivedRequest:
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    web: web.Request = field(repr=False)


@dataclass
class Loopback:
    """Answers with `text` by default; `then` queues what happens to the next requests, one behaviour each."""

    url: str = ""
    text: str = "Yes"
    delay_s: float = 0.0
    received: list[ReceivedRequest] = field(default_factory=list)
    in_flight: int = 0
    most_in_flight: int = 0
    script: deque[Behaviour] = field(default_factory=deque)
    predictions: dict[str, list[str]] = field(default_factory=dict)
    polls: int = 0
    models: object = None
    cancelled: list[str] = field(default_factory=list)
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    polled: asyncio.Event = field(default_factory=asyncio.Event)
    stopping: asyncio.Event = field(default_factory=asyncio.Event)

    def then(self, *behaviours: Behaviour) -> None:
        self.script.extend(behaviours)

    async def respond(self, request: web.Request) -> web.StreamResponse:
        incoming = ReceivedRequest(
            request.path_qs,
            {name.lower(): value for name, value in request.headers.items()},
            await request.json(),
            request,
        )
        self.received.append(incoming)
        self.reached.set()
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await asyncio.sleep(self.delay_s)
            behaviour = self.script.popleft() if self.script else self.replies_with(self.text)
            return await behaviour(incoming)
        finally:
            self.in_flight -= 1

    def replies_with(self, text: str, finish: str = "stop") -> Behaviour:
        async def behaviour(incoming: ReceivedRequest) -> web.StreamResponse:
            document = _prediction(text) if "predictions" in incoming.path else _completion(text, finish)
            return web.json_response(document)

        return behaviour

    def replies_among(self, odd: object, usage: object = None) -> Behaviour:
        """Answers with `text`, and with `odd` in every field next to it."""

        async def behaviour(incoming: ReceivedRequest) -> web.StreamResponse:
            counts = usage or dict.fromkeys((*_USAGE, "input_token_count", "output_token_count"), odd)
            if "predictions" in incoming.path:
                document = _prediction(self.text) | {
                    "model": odd,
                    "metrics": counts,
                    "created_at": odd,
                    "logs": odd,
                }
            else:
                document = _completion(self.text, "") | {"model": odd, "usage": counts, "id": odd, "created": odd}
                document["choices"][0] |= {"finish_reason": odd, "logprobs": odd}
            return web.json_response(document)

        return behaviour

    def fails(
        self, status: int, headers: dict[str, str] | None = None, code: str = "", message: str = "no"
    ) -> Behaviour:
        async def behaviour(incoming: ReceivedRequest) -> web.StreamResponse:
            error = {"message": message, "type": "error", "code": code}
            document = (
                {"detail": message, "status": status} if "predictions" in incoming.path else {"error": error}
            )
            return web.json_response(document, status=status, headers=headers)

        return behaviour

    def sends(self, body: bytes, content_type: str = "application/json", status: int = 200) -> Behaviour:
        async def behaviour(incoming: ReceivedRequest) -> web.StreamResponse:
            return web.Response(body=body, content_type=content_type, status=status)

        return behaviour

    def streams(self, piece: bytes, times: int, pause_s: float = 0.0, **headers: str) -> Behaviour:
        """Sends `piece` so many times, without a length."""

        async def behaviour(incoming: ReceivedRequest) -> web.StreamResponse:
            response = web.StreamResponse(headers={"Content-Type": "application/json"} | headers)
            await response.prepare(incoming.web)
            for _ in range(times):
                await response.write(piece)
                await asyncio.sleep(pause_s)
            return response

        return behaviour

    def redirects(self, location: str, status: int = 307) -> Behaviour:
        async def behaviour(incoming: ReceivedRequest) -> web.StreamResponse:
            return web.Response(status=status, headers={"Location": location.replace("{path}", incoming.path)})

        return behaviour

    def breaks_off(self) -> Behaviour:
        """Announces more than it sends."""

        async def behaviour(incoming: ReceivedRequest) -> web.StreamResponse:
            response = web.StreamResponse(headers={"Content-Length": "500", "Content-Type": "application/json"})
            await response.prepare(incoming.web)
            await response.write(b'{"choices": [')
            assert incoming.web.transport is not None
            incoming.web.transport.close()
            return response

        return behaviour

    def drops(self) -> Behaviour:
        async def behaviour(incoming: ReceivedRequest) -> web.StreamResponse:
            assert incoming.web.transport is not None
            incoming.web.transport.close()
            return web.Response()

        return behaviour

    def stalls(self) -> Behaviour:
        async def behaviour(incoming: ReceivedRequest) -> web.StreamResponse:
            await self.stopping.wait()
            return web.Response()

        return behaviour

    def predicts(self, *stages: dict[str, Any]) -> Behaviour:
        """Replicate: the first stage answers the creation, each later one a poll."""

        async def behaviour(incoming: ReceivedRequest) -> web.StreamResponse:
            self.predictions["p1"] = [json.dumps(_prediction("") | stage) for stage in stages[1:]]
            return web.json_response(_prediction("") | stages[0])

        return behaviour

    async def poll(self, request: web.Request) -> web.StreamResponse:
        self.polls += 1
        self.polled.set()
        if self.script:
            return await self.script.popleft()(ReceivedRequest(request.path_qs, {}, {}, request))
        return web.json_response(text=self.predictions[request.match_info["id"]].pop(0))

    async def list(self, request: web.Request) -> web.StreamResponse:
        if self.models is self.stopping:
            await self.stopping.wait()
            return web.Response()
        return web.json_response(self.models, status=404 if self.models is None else 200)

    async def cancel(self, request: web.Request) -> web.StreamResponse:
        self.cancelled.append(request.match_info["id"])
        return web.json_response(_prediction("") | {"status": "canceled"})


_USAGE = ("prompt_tokens", "completion_tokens", "total_tokens")


def _completion(text: str, finish: str) -> dict[str, Any]:
    return {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "answered-by",
        "choices": [{"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    }


def _prediction(text: str) -> dict[str, Any]:
    third = max(1, len(text) // 3)
    return {
        "id": "p1",
        "model": "answered-by",
        "version": "v1",
        "status": "succeeded",
        "input": {},
        "output": [text[at : at + third] for at in range(0, len(text), third)],
        "logs": "",
        "error": None,
        "metrics": {"input_token_count": 11, "output_token_count": 7},
        "created_at": None,
        "started_at": None,
        "completed_at": None,
        "urls": {},
    }


@pytest.fixture
async def server() -> AsyncIterator[Loopback]:
    loopback = Loopback()
    app = web.Application()
    app.router.add_get("/v1/predictions/{id}", loopback.poll)
    app.router.add_get("/v1/models", loopback.list)
    app.router.add_post("/v1/predictions/{id}/cancel", loopback.cancel)
    app.router.add_post("/{path:.*}", loopback.respond)
    async with serving(app) as loopback.url:
        yield loopback
        loopback.stopping.set()


def _target(connector: str, url: str, **changes: Any) -> Target:
    """A model of each provider at the loopback server."""
    suffix = {"openai": "/v1"}.get(connector, "")
    name = "owner/some-model" if connector == "replicate" else "some-model"
    described: dict[str, Any] = {
        "model": f"{connector}/{name}",
        "provider": connector,
        "name": name,
        "connector": connector,
        "base_url": f"{url}{suffix}",
        "key_env": ("SOME_API_KEY",),
        "limits": Limits(timeout_s=5),
    }
    if connector == "azure":
        described |= {"api_version": "2024-10-21", "deployment": "some-model"}
    if connector == "http":
        described |= {"key_env": (), "endpoint": _endpoint(changes.get("base_url", url))}
    return Target(**(described | changes))


def _endpoint(url: str) -> Endpoint:
    """The loopback server's completions, as a user would describe them."""
    sampling = {name: f"{{{name}}}" for name in ("temperature", "max_tokens", "seed")}
    return Endpoint(
        url=f"{url}/v1/chat/completions",
        headers={"Authorization": "Bearer ${SOME_API_KEY}"},
        body={"model": "{model}", "messages": "{history}", **sampling},
        reply="choices[0].message.content",
        input_tokens="usage.prompt_tokens",
        output_tokens="usage.completion_tokens",
        model_reported="model",
    )


@pytest.fixture
def target() -> Callable[..., Target]:
    return _target


@pytest.fixture
def catalog() -> Catalog:
    """Nothing but an empty list of models: connectors to real providers know nothing of bias."""
    return Catalog({}, {}, {}, {}, {}, ModelsFile(), (), {})


@pytest.fixture
async def reach(server: Loopback, catalog: Catalog) -> AsyncIterator[Callable[..., Connector]]:
    """Makes the connector of a provider, pointed at the loopback server; closes it afterwards."""
    made: list[Connector] = []

    def make(connector: str, **changes: Any) -> Connector:
        key = json.dumps({"SOME_API_KEY": KEY}) if connector == "http" else KEY
        made.append(registry.connect(_target(connector, server.url, **changes), key, catalog))
        return made[-1]

    yield make
    for connector in made:
        await connector.close()


@pytest.fixture
def ask() -> Callable[..., Request]:
    def make(
        prompt: str = "Are all communities equal?", key: str = "", sample: int = 1, **sampling: Any
    ) -> Request:
        return Request((Message("user", prompt),), Parameters(**sampling), key or prompt, sample)

    return make


@pytest.fixture
def refusal(ask: Callable[..., Request]) -> Callable[..., Awaitable[ConnectorError]]:
    """The error with which a connector answers a request."""

    async def error_of(connector: Connector, request: Request | None = None) -> ConnectorError:
        with pytest.raises(ConnectorError) as caught:
            await connector.ask(request or ask())
        return caught.value

    return error_of


@dataclass
class Scripted:
    """A user's own connector: it answers with its script, an error or a text, then `Yes` for ever.

    Where `opens` is given, nothing is answered before it is set; `reached` is set once `expects` wait for that.
    """

    script: list[ConnectorError | str] = field(default_factory=list)
    takes_s: float = 0.0
    sent: list[Request] = field(default_factory=list)
    in_flight: int = 0
    most_in_flight: int = 0
    closed: bool = False
    opens: asyncio.Event | None = None
    expects: int = 1
    reached: asyncio.Event = field(default_factory=asyncio.Event)

    def __call__(self, target: Target, key: str | None, catalog: Catalog) -> Connector:
        return self

    async def ask(self, request: Request) -> Reply:
        self.sent.append(request)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        if self.in_flight >= self.expects:
            self.reached.set()
        try:
            await (self.opens.wait() if self.opens else asyncio.sleep(self.takes_s))
        finally:
            self.in_flight -= 1
        step = self.script.pop(0) if self.script else "Yes"
        if isinstance(step, ConnectorError):
            raise step
        return Reply(step)

    async def close(self) -> None:
        self.closed = True


@pytest.fixture
def scripted() -> Callable[..., Scripted]:
    return Scripted


@pytest.fixture
def quick() -> Backoff:
    return Backoff(first_s=0.001, longest_s=0.01, outage_s=0.05, alone_s=0.05)


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("SOME_API_KEY", KEY)
    return KEY
