"""Replicate's predictions: created by model, deployment or version; waited for or polled."""

from __future__ import annotations

import asyncio
import re
import time
import uuid
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from biasgrid.tasks.connectors.api import Message
from biasgrid.tasks.connectors.simulated.behaviour import SimulatedReply
from biasgrid.tasks.connectors.simulated.panel import Question
from biasgrid.tasks.connectors.simulated.server.service import (
    Declined,
    ModelRequest,
    Service,
    read_body,
    read_seed,
    with_errors,
)
from biasgrid.tasks.connectors.usage import estimate_tokens

KEPT = 10_000
LONGEST_WAIT_S = 60.0
WITHHELD = "The input or output was flagged as sensitive. (E005)"
TITLES = {
    "key": "Unauthenticated",
    "model": "Not found",
    "throttled": "Too many requests",
    "invalid": "Input validation failed",
}


@dataclass(frozen=True, slots=True)
class Prediction:
    model: str
    version: str
    sent: Mapping[str, Any]
    answer: SimulatedReply
    seconds: float
    created: float = field(default_factory=time.time)
    id: str = field(default_factory=lambda: uuid.uuid4().hex[:26])

    @property
    def completed(self) -> float:
        return self.created + self.seconds

    @property
    def remaining_s(self) -> float:
        return max(0.0, self.completed - time.time())


class ReplicateProtocol:
    def __init__(self, service: Service) -> None:
        self._service = service
        self._predictions: OrderedDict[str, Prediction] = OrderedDict()

    def routes(self) -> list[Route]:
        create = self._service.journal_requests(self.create, replicate_error)
        fetch = with_errors(self.fetch, replicate_error)
        return [
            Route("/v1/predictions", create, methods=["POST"]),
            Route("/v1/models/{owner}/{name}/predictions", create, methods=["POST"]),
            Route("/v1/deployments/{owner}/{name}/predictions", create, methods=["POST"]),
            Route("/v1/predictions/{id}", fetch),
            Route("/v1/predictions/{id}/cancel", fetch, methods=["POST"]),
            Route("/v1/models/{owner}/{name}", with_errors(self.model, replicate_error)),
        ]

    async def create(self, request: Request) -> Response:
        body = await read_body(request)
        model, sent = _model(request, body), body.get("input")
        if not isinstance(sent, dict) or not isinstance(sent.get("prompt"), str):
            raise Declined("invalid", "`input.prompt` is required.")
        question = Question(self._service.respondent(model), sent["prompt"], read_seed(sent))
        answered = await self._service.admit(
            request, ModelRequest(question, model, [Message("user", question.text)])
        )
        seconds = question.respondent.latency_ms / 1000
        prediction = Prediction(model, str(body.get("version", "hidden")), sent, answered.reply, seconds)
        self._predictions[prediction.id] = prediction
        if len(self._predictions) > KEPT:
            self._predictions.popitem(last=False)
        await asyncio.sleep(min(prediction.remaining_s, _wait_s(request)))
        return JSONResponse(describe_prediction(prediction, str(request.base_url)), 201)

    async def fetch(self, request: Request) -> Response:
        prediction = self._predictions.get(request.path_params["id"])
        if prediction is None:
            raise Declined("model", "The prediction could not be found.")
        return JSONResponse(describe_prediction(prediction, str(request.base_url)))

    async def model(self, request: Request) -> Response:
        owner, name = request.path_params["owner"], request.path_params["name"]
        self._service.respondent(f"{owner}/{name}")
        card = {"url": str(request.url), "owner": owner, "name": name, "visibility": "public", "run_count": 0}
        return JSONResponse(card)


def describe_prediction(prediction: Prediction, base_url: str) -> dict[str, Any]:
    """The prediction as the API shows it now; its output only once it is done."""
    done, withheld = prediction.remaining_s == 0, prediction.answer.odd == "content_filter"
    ended = "failed" if withheld else "succeeded"
    address = f"{base_url.rstrip('/')}/v1/predictions/{prediction.id}"
    return {
        "id": prediction.id,
        "model": prediction.model,
        "version": prediction.version,
        "status": ended if done else "starting",
        "input": dict(prediction.sent),
        # in pieces, as a language model streams it; joined, they are the text
        "output": re.findall(r"\s*\S+|\s+\Z", prediction.answer.text) if done and not withheld else None,
        "logs": "",
        "error": WITHHELD if done and withheld else None,
        "metrics": _metrics(prediction) if done else {},
        "created_at": _format_time(prediction.created),
        "started_at": _format_time(prediction.created) if done else None,
        "completed_at": _format_time(prediction.completed) if done else None,
        "urls": {"get": address, "cancel": f"{address}/cancel"},
    }


def replicate_error(declined: Declined) -> Response:
    title = TITLES.get(declined.reason, "Internal server error")
    body = {"title": title, "detail": declined.message}
    response = declined.response(body)
    return declined.response(body | {"status": response.status_code})


def _model(request: Request, body: Mapping[str, Any]) -> str:
    if "owner" in request.path_params:
        return f"{request.path_params['owner']}/{request.path_params['name']}"
    return str(body.get("version", "")).partition(":")[0]


def _wait_s(request: Request) -> float:
    """Seconds that the client waits for the output: `Prefer: wait`, `Prefer: wait=5`."""
    asked = re.search(r"\bwait(?:=(\d+))?", request.headers.get("prefer", ""))
    if not asked:
        return 0.0
    return min(float(asked[1] or LONGEST_WAIT_S), LONGEST_WAIT_S)


def _metrics(prediction: Prediction) -> dict[str, float]:
    return {
        "input_token_count": estimate_tokens(prediction.sent["prompt"]),
        "output_token_count": estimate_tokens(prediction.answer.text),
        "predict_time": prediction.seconds,
    }


def _format_time(timestamp: float) -> str:
    return datetime.fromtimestamp(timestamp, UTC).isoformat()
