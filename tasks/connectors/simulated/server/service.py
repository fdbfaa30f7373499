"""Requests to respondents over HTTP in any protocol: keys, names, limits, faults and journal."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Never

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from biasgrid.catalogs.schema.respondents import Respondent
from biasgrid.tasks.connectors.api import Message
from biasgrid.tasks.connectors.simulated.behaviour import SimulatedReply
from biasgrid.tasks.connectors.simulated.fault_injection import limit_headers
from biasgrid.tasks.connectors.simulated.panel import ModelDirectory, Panel, Question
from biasgrid.tasks.connectors.simulated.server.delivery import (
    UNREADABLE,
    Delivery,
    Journal,
    JournalEntry,
    digest_messages,
    transport_of,
)
from biasgrid.tasks.connectors.usage import estimate_tokens

WRONG_KEY = "wrong-key"
"""The only rejected key, for tests of wrong keys."""

Reason = Literal["key", "model", "throttled", "fault", "stalled", "invalid", "withheld", "missing", "conflict"]
STATUS: Mapping[Reason, int] = {
    "key": 401,
    "model": 404,
    "throttled": 429,
    "fault": 500,
    "stalled": 504,
    "invalid": 400,
    "withheld": 400,
    "missing": 404,
    "conflict": 409,
}
Handler = Callable[[Request], Awaitable[Response]]
Form = Callable[["Declined"], Response]
Counting = Callable[[Sequence[Message], str], tuple[int, int]]
"""The tokens of the messages and of the reply."""
LONG = 100_000
"""Characters from which a reply's tokens are counted in a thread, as it would block other requests."""


class Declined(Exception):
    """A request that is not answered; each protocol has its own error body."""

    def __init__(self, reason: Reason, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(reason, message, retry_after_s)
        self.reason, self.message, self.retry_after_s = reason, message, retry_after_s

    def response(self, body: object) -> JSONResponse:
        headers = {} if self.retry_after_s is None else {"Retry-After": f"{self.retry_after_s:g}"}
        return JSONResponse(body, STATUS[self.reason], headers)


class Dropped(Exception):
    """The connection is gone, so that no response is sent."""


def estimate_usage(messages: Sequence[Message], text: str) -> tuple[int, int]:
    return sum(estimate_tokens(message.content) for message in messages), estimate_tokens(text)


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A question as received: model name, messages, and the protocol's token count."""

    question: Question
    model: str
    messages: Sequence[Message]
    count: Counting = estimate_usage


@dataclass(frozen=True, slots=True)
class CountedReply:
    reply: SimulatedReply
    input_tokens: int
    output_tokens: int


class Service:
    """The respondents behind all protocols of one server."""

    def __init__(self, panel: Panel, directory: ModelDirectory, journal: Journal) -> None:
        self.panel, self.directory, self.journal = panel, directory, journal

    def respondent(self, model: object) -> Respondent:
        """The respondent of a model. Raises Declined for an unknown name."""
        found = self.directory.find(model) if isinstance(model, str) else None
        if found is None:
            raise Declined("model", f"The model `{model}` does not exist or you do not have access to it.")
        return found

    async def ask(self, request: Request, asked: ModelRequest) -> CountedReply:
        """The reply, after the respondent's latency. Raises Declined or Dropped on limits or faults."""
        answered = await self.admit(request, asked)
        await self.panel.latency(asked.question.respondent)
        return answered

    async def admit(self, request: Request, asked: ModelRequest) -> CountedReply:
        """The reply without latency; otherwise as `ask`."""
        entry, question = _journal_entry(request), asked.question
        entry.model, entry.messages, entry.seed = asked.model, digest_messages(asked.messages), question.seed
        request.state.respondent = question.respondent
        reply = self.panel.reply(question)
        count = partial(asked.count, asked.messages, reply.text)
        counted = await asyncio.to_thread(count) if len(reply.text) > LONG else count()
        wait_s = self.panel.meter(question.respondent).admit(sum(counted))
        if wait_s > 0:
            # rounded up to the millisecond, so that a retry at exactly that time is served
            wait_s = -(-wait_s * 1000 // 1) / 1000
            raise Declined("throttled", f"Rate limit reached: try again in {wait_s:g} seconds.", wait_s)
        entry.fault = self.panel.fault(question) or reply.odd
        await _apply_fault(request, question.respondent)
        return CountedReply(reply, *counted)

    def journal_requests(
        self, handler: Handler, form: Form, *, states_limits: bool = False
    ) -> Callable[[Request], Any]:
        """The handler with a journal entry per request; `states_limits`: headers state the remaining limits."""

        async def respond(request: Request) -> Delivery:
            entry = request.state.entry = JournalEntry()
            outcome = "answered"
            try:
                check_key(request)
                response = await handler(request)
                if entry.fault in UNREADABLE:
                    outcome = str(entry.fault)
            except Declined as declined:
                response = form(declined)
                if declined.reason != "withheld":
                    outcome = entry.fault or declined.reason
            except Dropped:
                response, outcome = Response(), entry.fault or "abandoned"
            respondent: Respondent | None = getattr(request.state, "respondent", None)
            if states_limits and respondent is not None and respondent.limits.stated:
                response.headers.update(limit_headers(self.panel.meter(respondent).standings()))
            stall_s = respondent.faults.stall_s if respondent else 0.0
            return Delivery(response, self.journal, entry, outcome, stall_s)

        return respond


def with_errors(handler: Handler, form: Form) -> Handler:
    """The handler with its errors in the protocol's own form."""

    async def respond(request: Request) -> Response:
        try:
            check_key(request)
            return await handler(request)
        except Declined as declined:
            return form(declined)

    return respond


def _journal_entry(request: Request) -> JournalEntry:
    entry: JournalEntry = request.state.entry
    return entry


def check_key(request: Request) -> None:
    """Raises Declined for the one wrong key; any other key, or none, is accepted."""
    sent = request.headers.get("authorization", "").rpartition(" ")[2] or request.headers.get("api-key")
    if sent == WRONG_KEY:
        raise Declined("key", "The API key is not valid.")


async def read_body(request: Request) -> dict[str, Any]:
    """The JSON object sent. Raises Declined if there is none."""
    try:
        body = json.loads(await request.body())
    except ValueError:
        raise Declined("invalid", "The body could not be read as JSON.") from None
    if not isinstance(body, dict):
        raise Declined("invalid", "The body is not a JSON object.")
    return body


def read_seed(parameters: Mapping[str, Any]) -> int | None:
    """The seed, or None. Raises Declined if it is not a whole number."""
    seed = parameters.get("seed")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int)):
        raise Declined("invalid", "`seed` is not an integer.")
    return seed


async def _apply_fault(request: Request, respondent: Respondent) -> None:
    """Raises Declined or Dropped; faults of the body are applied to the response."""
    match _journal_entry(request).fault:
        case "rate_limited":
            wait = respondent.faults.retry_after_s
            raise Declined("throttled", f"Too many requests: try again in {wait:g} seconds.", wait)
        case "server_fault":
            raise Declined("fault", "The server had an error while processing the request.")
        case "timed_out":
            await _stall(request, respondent.faults.stall_s)
        case "disconnected":
            await _drop(request)


async def _stall(request: Request, seconds: float) -> Never:
    """Holds the request until the client gives up, at most `seconds`, as a gateway does."""
    with suppress(TimeoutError):
        await asyncio.wait_for(request.receive(), seconds)
        raise Dropped
    raise Declined("stalled", "The upstream server did not answer in time.")


async def _drop(request: Request) -> Never:
    transport_of(request.scope).abort()
    await request.receive()
    raise Dropped
