"""Chat completions of OpenAI, Azure and compatible servers."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from biasgrid.catalogs.schema.respondents import Respondent
from biasgrid.tasks.connectors.api import Message
from biasgrid.tasks.connectors.simulated.panel import Question, last_user_text
from biasgrid.tasks.connectors.simulated.server.service import (
    CountedReply,
    Counting,
    Declined,
    ModelRequest,
    Service,
    read_body,
    read_seed,
    with_errors,
)
from biasgrid.tasks.connectors.usage import count_chat, count_text

ERRORS: Mapping[str, tuple[str, str | None]] = {  # reason: type, code
    "key": ("invalid_request_error", "invalid_api_key"),
    "model": ("invalid_request_error", "model_not_found"),
    "throttled": ("requests", "rate_limit_exceeded"),
    "fault": ("server_error", None),
    "stalled": ("server_error", "timeout"),
    "invalid": ("invalid_request_error", None),
    "missing": ("invalid_request_error", None),
    "conflict": ("invalid_request_error", None),
    "withheld": ("invalid_request_error", "content_filter"),
}
AZURE_CODES = {"key": "401", "model": "DeploymentNotFound", "throttled": "429", "fault": "InternalServerError"}
AZURE_FILTERED = {
    "code": "content_filter",
    "param": "prompt",
    "type": None,
    "status": 400,
    "innererror": {
        "code": "ResponsibleAIPolicyViolation",
        "content_filter_result": {"hate": {"filtered": True, "severity": "medium"}},
    },
}


class OpenAIProtocol:
    def __init__(self, service: Service) -> None:
        self._service = service

    def routes(self) -> list[Route]:
        chat = self._service.journal_requests(self.chat, openai_error, states_limits=True)
        azure = self._service.journal_requests(self.azure_chat, azure_error, states_limits=True)
        found = [
            Route(f"{prefix}/chat/completions", chat, methods=["POST"]) for prefix in ("/v1", "", "/openai/v1")
        ]
        found += [Route(f"{prefix}/models", with_errors(self.models, openai_error)) for prefix in ("/v1", "")]
        found.append(Route("/v1/models/{model}", with_errors(self.model, openai_error)))
        azure_path = "/openai/deployments/{deployment:path}/chat/completions"
        return [*found, Route(azure_path, azure, methods=["POST"])]

    async def chat(self, request: Request) -> Response:
        body = await read_body(request)
        if "model" not in body:
            raise Declined("invalid", "You must provide a `model`.")
        model = body["model"]
        return JSONResponse(await complete(self._service, request, body, model, self._service.respondent(model)))

    async def azure_chat(self, request: Request) -> Response:
        if "api-version" not in request.query_params:
            raise Declined("model", "Resource not found: the query has no `api-version`.")
        deployment = request.path_params["deployment"]
        respondent = self._service.respondent(deployment)
        completion = await complete(self._service, request, await read_body(request), deployment, respondent)
        if completion["choices"][0]["finish_reason"] == "content_filter":
            raise Declined("withheld", "The response was filtered: the prompt is against the content policy.")
        return JSONResponse(completion)

    async def models(self, request: Request) -> Response:
        return JSONResponse({"object": "list", "data": [_card(n) for n in self._service.directory.names()]})

    async def model(self, request: Request) -> Response:
        name = request.path_params["model"]
        self._service.respondent(name)
        return JSONResponse(_card(name))


def count_usage(messages: Sequence[Message], text: str) -> tuple[int, int]:
    """Token counts with OpenAI's newer vocabulary, as respondents have none of their own."""
    return count_chat(messages), count_text(text)


async def complete(
    service: Service,
    request: Request,
    body: Mapping[str, Any],
    model: str,
    respondent: Respondent,
    count: Counting = count_usage,
) -> dict[str, Any]:
    """A chat completion of the messages. Raises Declined for messages or parameters that cannot be served."""
    question, messages = read_question(body, respondent)
    return completion(respondent, await service.ask(request, ModelRequest(question, model, messages, count)))


def read_question(body: Mapping[str, Any], respondent: Respondent) -> tuple[Question, list[Message]]:
    """The question in a chat's body, and all its messages. Raises Declined as `complete` does."""
    messages = _messages(body)
    if body.get("n") not in (None, 1) or body.get("stream"):
        raise Declined("invalid", "Simulated respondents give one choice, and do not stream.")
    return Question(respondent, last_user_text(messages), read_seed(body), tuple(messages)), messages


def openai_error(declined: Declined) -> Response:
    return declined.response(error_body(declined))


def error_body(declined: Declined) -> dict[str, Any]:
    """The body of an error."""
    kind, code = ERRORS[declined.reason]
    return {"error": {"message": declined.message, "type": kind, "param": None, "code": code}}


def azure_error(declined: Declined) -> Response:
    if declined.reason == "withheld":
        return declined.response({"error": {"message": declined.message, **AZURE_FILTERED}})
    code = AZURE_CODES.get(declined.reason, "BadRequest")
    return declined.response({"error": {"code": code, "message": declined.message}})


def _messages(body: Mapping[str, Any]) -> list[Message]:
    sent = body.get("messages")
    if not isinstance(sent, list) or not sent or not all(isinstance(one, dict) for one in sent):
        raise Declined("invalid", "`messages` is not a list of messages.")
    return [Message(str(one.get("role", "user")), _content(one.get("content"))) for one in sent]


def _content(content: object) -> str:
    """A text content, or the joined text parts of a list."""
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def completion(respondent: Respondent, answered: CountedReply) -> dict[str, Any]:
    """The body that OpenAI sends for a reply."""
    reply, withheld = answered.reply, answered.reply.odd == "content_filter"
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": None if withheld else reply.text},
        "logprobs": None,
        "finish_reason": reply.finish_reason,
    }
    return {
        "id": f"chatcmpl-{uuid.uuid4().hex}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": respondent.id,
        "system_fingerprint": "simulated",
        "choices": [choice],
        "usage": {
            "prompt_tokens": answered.input_tokens,
            "completion_tokens": answered.output_tokens,
            "total_tokens": answered.input_tokens + answered.output_tokens,
        },
    }


def _card(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "biasgrid"}
