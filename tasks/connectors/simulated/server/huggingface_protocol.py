"""Hugging Face: a model's own address, chat or text generation, hosted or text-generation-inference."""

from __future__ import annotations

from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from biasgrid.catalogs.schema.respondents import Respondent
from biasgrid.tasks.connectors.api import Message
from biasgrid.tasks.connectors.simulated.panel import Question
from biasgrid.tasks.connectors.simulated.server.openai_protocol import complete
from biasgrid.tasks.connectors.simulated.server.service import (
    Declined,
    ModelRequest,
    Service,
    estimate_usage,
    read_body,
    read_seed,
)

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
