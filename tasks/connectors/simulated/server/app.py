"""HTTP server of respondents, for any provider's SDK by its base URL."""

from __future__ import annotations

import asyncio
import errno
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.respondents import Respondent
from biasgrid.tasks.connectors.api import Message
from biasgrid.tasks.connectors.simulated.panel import ModelDirectory, Panel, Question
from biasgrid.tasks.connectors.simulated.server.delivery import Journal
from biasgrid.tasks.connectors.simulated.server.job_protocol import JobProtocol
from biasgrid.tasks.connectors.simulated.server.openai_protocol import OpenAIProtocol, complete
from biasgrid.tasks.connectors.simulated.server.replicate_protocol import ReplicateProtocol
from biasgrid.tasks.connectors.simulated.server.service import (
    Declined,
    ModelRequest,
    Service,
    estimate_usage,
    read_body,
    read_seed,
)
from biasgrid.tasks.connectors.simulated.server.store import JobStore
from biasgrid.tasks.connectors.usage import count_text

ERROR_TYPES = {"throttled": "overloaded", "fault": "generation", "stalled": "generation"}
PREFIXES = ("", "/hf-inference")  # the hosted router puts the provider first


class HuggingFaceProtocol:
    def __init__(self, service: Service) -> None:
        self._service = service

    def routes(self) -> list[Route]:
        journal = partial(self._service.journal_requests, form=huggingface_error)
        chat, generate, generate_list = map(journal, (self.chat, self.generate, self.generate_list))
        found = [Route("/generate", generate, methods=["POST"]), Route("/", generate_list, methods=["POST"])]
        for prefix in PREFIXES:
            address = f"{prefix}/models/{{model:path}}"
            found.append(Route(f"{address}/v1/chat/completions", chat, methods=["POST"]))
            found.append(Route(f"{address}/generate", generate, methods=["POST"]))
            found.append(Route(address, generate_list, methods=["POST"]))
        return found

    async def chat(self, request: Request) -> Response:
        model, respondent = self._respondent(request)
        body = await read_body(request)
        return JSONResponse(await complete(self._service, request, body, model, respondent, estimate_usage))

    async def generate(self, request: Request) -> Response:
        return JSONResponse(await self._generate(request))

    async def generate_list(self, request: Request) -> Response:
        return JSONResponse([await self._generate(request)])

    async def _generate(self, request: Request) -> dict[str, Any]:
        body = await read_body(request)
        prompt, parameters = body.get("inputs"), body.get("parameters") or {}
        if not isinstance(prompt, str) or not isinstance(parameters, dict):
            raise Declined("invalid", "`inputs` is not a text, or `parameters` no object.")
        if body.get("stream"):
            raise Declined("invalid", "Simulated respondents do not stream.")
        model, respondent = self._respondent(request)
        question = Question(respondent, prompt, read_seed(parameters))
        answered = await self._service.ask(request, ModelRequest(question, model, [Message("user", prompt)]))
        generated: dict[str, Any] = {"generated_text": answered.reply.text}
        if parameters.get("details"):
            generated["details"] = {
                "finish_reason": "eos_token",
                "generated_tokens": answered.output_tokens,
                "seed": parameters.get("seed"),
                "prefill": [],
                "tokens": [],
            }
        return generated

    def _respondent(self, request: Request) -> tuple[str, Respondent]:
        """The model's name and its respondent."""
        model = request.path_params.get("model")
        default = self._service.directory.default
        return (model, self._service.respondent(model)) if model else (default.id, default)


def huggingface_error(declined: Declined) -> Response:
    kind = ERROR_TYPES.get(declined.reason, "validation")
    return declined.response({"error": declined.message, "error_type": kind})


START_S = 10.0


def build_app(
    catalog: Catalog,
    default: str = "fair",
    mapping: Mapping[str, str] | None = None,
    *,
    journal: Path | None = None,
    state: Path | None = None,
) -> Starlette:
    """An app with all respondents and protocols. Raises UserError if a respondent or path is invalid."""
    # `default` answers for every listed model, `mapping` names exceptions; `journal` is a file of requests,
    # `state` a directory of jobs.
    panel = Panel(catalog)
    service = Service(panel, ModelDirectory(panel, default, mapping or {}), Journal(journal))
    protocols = (
        JobProtocol(service, JobStore(state)),
        OpenAIProtocol(service),
        HuggingFaceProtocol(service),
        ReplicateProtocol(service),
    )
    count_text(" ")  # loads the vocabulary in half a second, before the first request
    routes = [route for protocol in protocols for route in protocol.routes()]
    app = Starlette(routes=[*routes, Route("/health", _health), Route("/journal", _journal)])
    app.state.journal = service.journal
    return app


def serve(
    app: Starlette, port: int = 8080, host: str = "127.0.0.1", on_ready: Callable[[str], None] | None = None
) -> None:
    """Serves until Ctrl-C and calls `on_ready` with the base URL; port 0 takes a free one. Raises UserError."""
    listening = _listen(host, port)
    if on_ready is not None:
        on_ready(_address(listening))
    with listening, suppress(KeyboardInterrupt):
        _server(app).run(sockets=[listening])


class RunningServer:
    """The app in its own thread, on a free port, during the `with` block."""

    def __init__(self, app: Starlette, host: str = "127.0.0.1", port: int = 0) -> None:
        self._listening = _listen(host, port)
        self._server = _server(app)
        self._thread = threading.Thread(target=self._run, name="respondents", daemon=True)
        self.base_url = _address(self._listening)
        """`http://127.0.0.1:<port>`, without a path."""

    def __enter__(self) -> RunningServer:
        self._thread.start()
        deadline = time.monotonic() + START_S
        while not self._server.started and self._thread.is_alive() and time.monotonic() < deadline:
            time.sleep(0.005)
        if not self._server.started:
            raise RuntimeError(f"the respondents' server at {self.base_url} did not start")
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._listening.close()

    def _run(self) -> None:
        self._server.run(sockets=[self._listening])


class _Protocol(H11Protocol):
    """Passes the transport to the app, which has no other way to drop a connection without a response."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.app_state = {**self.app_state, "transport": transport}


def _server(app: Starlette) -> uvicorn.Server:
    config = uvicorn.Config(
        app,
        http=_Protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        timeout_graceful_shutdown=1,  # a stalled request must not delay the end
    )
    return uvicorn.Server(config)


def _listen(host: str, port: int) -> socket.socket:
    try:
        listening = socket.create_server((host, port), backlog=2048)
    except OSError as error:
        what = f"cannot listen on `{host}:{port}`: {error.strerror}"
        if error.errno in (errno.EADDRINUSE, errno.EACCES):
            raise UserError(Problem(what, "--port", "choose another port, or 0")) from error
        raise UserError(Problem(what, "--host", "name an address of this machine")) from error
    # asyncio sets it only on sockets that name their protocol; else head and body arrive 40 ms apart
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def _address(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://{host}:{port}"


async def _health(request: Request) -> Response:
    return JSONResponse({"status": "ok"})


async def _journal(request: Request) -> Response:
    journal: Journal = request.app.state.journal
    return Response(journal.lines(), media_type="application/jsonl")
