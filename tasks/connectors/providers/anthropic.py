"""Anthropic's Messages API, through its SDK: the extra `anthropic`."""

from __future__ import annotations

from typing import Any, Final

import anthropic
import httpx2
import orjson

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.api import Connector, ConnectorError, Reply, Request
from biasgrid.tasks.connectors.client.error_mapping import ErrorMapper
from biasgrid.tasks.connectors.client.transport import Received, SdkConnector, receive
from biasgrid.tasks.connectors.json_objects import Body
from biasgrid.tasks.connectors.providers.chat import NO_KEY, base_address, sampling_parameters
from biasgrid.tasks.connectors.side_fields import CHAT, build_reply, read_object

OWN: Final = "https://api.anthropic.com"
PATH: Final = "/v1/messages"  # posted directly: `create` refuses parameters of models that it does not know
MOST_TOKENS: Final = 4096
"""Of a reply, where none are set: the API requires a number."""


def connect(target: Target, key: str | None, catalog: Catalog) -> Connector:
    """Connector of Anthropic. Raises UserError if the base URL is no http address."""
    return Messages(target, key)


def open_client(target: Target, key: str | None, transport: Any) -> anthropic.AsyncAnthropic:
    """The SDK's client, without its own retries. Raises UserError if the base URL is no http address."""
    return anthropic.AsyncAnthropic(
        api_key=key or NO_KEY,
        base_url=base_address(target, OWN),
        max_retries=0,
        http_client=httpx2.AsyncClient(transport=transport, timeout=None),
    )


class Messages(SdkConnector):
    """Messages of one model."""

    unforeseen = (anthropic.AnthropicError, httpx2.HTTPError, ValueError, orjson.JSONEncodeError)

    def __init__(self, target: Target, key: str | None) -> None:
        super().__init__(target, key, httpx2)
        self._client = open_client(target, key, self._wire)

    async def close(self) -> None:
        await self._client.close()

    async def _send(self, request: Request) -> Reply:
        body = message_body(request, self._name, self._accepted)
        return read_message(await self._post(body), self._faults)

    async def _post(self, body: dict[str, Any]) -> Body:
        received: Body | None = await self._wire.post_again(orjson.dumps(body))
        if received is not None:
            return received
        try:
            return await receive(self._client.post(PATH, cast_to=httpx2.Response, body=body))
        except anthropic.APIConnectionError as wrapped:  # the SDK wraps what its transport raises
            cause = wrapped.__cause__
        if isinstance(cause, Received):
            return cause.body
        raise cause if isinstance(cause, ConnectorError) else ValueError("the SDK sent no request")


def message_body(request: Request, name: str, accepted: frozenset[str]) -> dict[str, Any]:
    """The body of a request: system messages have a field of their own, and there is no seed."""
    parameters = {"max_tokens": MOST_TOKENS, **sampling_parameters(request, accepted - {"seed"})}
    system = "\n\n".join(message.content for message in request.messages if message.role == "system")
    turns = [
        {"role": message.role, "content": message.content}
        for message in request.messages
        if message.role != "system"
    ]
    return {"model": name, "messages": turns, **parameters} | ({"system": system} if system else {})


def read_message(body: Body, faults: ErrorMapper) -> Reply:
    """The texts of a message; `refusal` is a finish reason. Raises the error that it reports, and ReplyMisplaced
    for another shape."""
    blocks = body.document.get("content")
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise faults.find_error(body.document) or faults.misplace("the reply holds no content", body.raw)
    texts = [
        block["text"] for block in blocks if block.get("type") == "text" and isinstance(block.get("text"), str)
    ]
    finish = body.document.get("stop_reason")
    if not texts and not isinstance(finish, str):
        raise faults.misplace("the reply's content holds no text", body.raw)
    usage = body.document.get("usage")
    counts = (read_object(usage).get(name) for name in ("input_tokens", "output_tokens"))
    return build_reply(
        "".join(texts),
        finish_reason=finish,
        usage=dict(zip(CHAT, counts, strict=True)) if isinstance(usage, dict) else usage,
        model_reported=body.document.get("model"),
        clean=faults.without_keys,
        host=faults.host,
    )
