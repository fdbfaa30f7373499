"""A loopback server of Anthropic's message batches: created, answered after some polls, listed and deleted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from aiohttp import web

from support.http_server import serving

Behaviour = Callable[[web.Request], Awaitable[web.StreamResponse]]
Result = Callable[[dict[str, Any]], dict[str, Any]]


def succeeded(asked: dict[str, Any], text: str = "No, never.", stop: str = "end_turn") -> dict[str, Any]:
    content = [{"type": "text", "text": text}] if text else []
    usage = {"input_tokens": 11, "output_tokens": 7}
    model = asked["params"]["model"]
    message = {"type": "message", "role": "assistant", "model": model, "content": content, "usage": usage}
    return {"type": "succeeded", "message": message | {"id": "msg_1", "stop_reason": stop}}


def errored(kind: str, message: str = "no") -> dict[str, Any]:
    stated = {"type": kind, "message": message}
    return {"type": "errored", "error": {"type": "error", "error": stated, "request_id": "req_1"}}


@dataclass
class MessageHub:
    """Its batches, newest first, with their requests."""

    url: str = ""
    polls: int = 1
    """Looks at a batch before it ends."""
    result: Result = succeeded
    received: list[web.Request] = field(default_factory=list)
    batches: dict[str, dict[str, Any]] = field(default_factory=dict)
    requests: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    instead: Behaviour | None = None
    lost: int = 0
    """Number of next creations whose answers are lost."""

    @property
    def all_requests(self) -> list[dict[str, Any]]:
        """The requests of all batches."""
        return [request for requests in self.requests.values() for request in requests]

    async def respond(self, request: web.Request) -> web.StreamResponse:
        self.received.append(request)
        if self.instead is not None:
            return await self.instead(request)
        match request.method, request.path.split("/")[4:]:
            case "POST", []:
                return self.create((await request.json())["requests"])
            case "GET", []:
                return self.page(request.query)
            case "GET", [batch_id] if batch_id in self.batches:
                return web.json_response(self.look(batch_id))
            case "GET", [batch_id, "results"] if batch_id in self.batches:
                return await self.send(request, self.results(batch_id))
            case "DELETE", [batch_id] if batch_id in self.batches:
                return web.json_response({"id": batch_id, "type": "message_batch_deleted"})
        return self.fail(404, "not_found_error", "no such batch")

    def fail(self, status: int, kind: str, message: str) -> web.Response:
        error = {"type": "error", "error": {"type": kind, "message": message}}
        return web.json_response(error, status=status)

    def create(self, requests: list[dict[str, Any]]) -> web.Response:
        created = self.add(requests)
        if self.lost:
            self.lost -= 1
            return self.fail(500, "api_error", "Internal server error")
        return web.json_response(created)

    def add(self, requests: list[dict[str, Any]], created: datetime | None = None) -> dict[str, Any]:
        """A batch in progress."""
        batch_id = f"msgbatch_{len(self.batches)}"
        began = created or datetime.now(UTC)
        batch = {
            "id": batch_id,
            "type": "message_batch",
            "processing_status": "in_progress",
            "request_counts": self.counts(processing=len(requests)),
            "created_at": began.isoformat().replace("+00:00", "Z"),
            "expires_at": (began + timedelta(days=1)).isoformat(),
            "results_url": None,
        }
        self.batches = {batch_id: batch} | self.batches
        self.requests[batch_id] = requests
        return batch

    def counts(self, **given: int) -> dict[str, int]:
        return dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), 0) | given

    def look(self, batch_id: str) -> dict[str, Any]:
        batch = self.batches[batch_id]
        looks = batch["looks"] = batch.get("looks", 0) + 1
        if looks > self.polls and batch["processing_status"] == "in_progress":
            self.end(batch_id)
        return {name: value for name, value in batch.items() if name != "looks"}

    def end(self, batch_id: str) -> None:
        kinds = [self.result(request)["type"] for request in self.requests[batch_id]]
        counted = {name: kinds.count(name) for name in ("succeeded", "errored", "canceled", "expired")}
        url = f"http://elsewhere.invalid/v1/messages/batches/{batch_id}/results"  # not where a key is sent
        ended = {"processing_status": "ended", "request_counts": self.counts(**counted), "results_url": url}
        self.batches[batch_id] |= ended

    def results(self, batch_id: str) -> bytes:
        lines = [
            orjson.dumps({"custom_id": request["custom_id"], "result": self.result(request)})
            for request in reversed(self.requests[batch_id])  # their order is not that of the requests
        ]
        return b"\n".join(lines) + b"\n"

    async def send(self, request: web.Request, body: bytes) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/x-jsonl"})
        await response.prepare(request)
        for start in range(0, len(body), 65_536):
            await response.write(body[start : start + 65_536])
        return response

    def page(self, query: Any) -> web.Response:
        ids, after, limit = [*self.batches], query.get("after_id"), int(query["limit"])
        start = ids.index(after) + 1 if after else 0
        data = [self.batches[batch_id] for batch_id in ids[start : start + limit]]
        return web.json_response({"data": data, "has_more": len(ids) > start + limit})


@pytest.fixture
async def message_hub() -> AsyncIterator[MessageHub]:
    """Answers every request of a batch."""
    hub = MessageHub()
    app = web.Application(client_max_size=1 << 30)
    app.router.add_route("*", "/{path:.*}", hub.respond)
    async with serving(app) as hub.url:
        yield hub
