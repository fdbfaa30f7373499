"""OpenAI and compatible servers with chat completions: vLLM, Ollama, llama.cpp, gateways."""

from __future__ import annotations

from typing import Any

import httpx2
import openai
import orjson

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.api import Connector, Reply, Request, RequestRejected
from biasgrid.tasks.connectors.client.transport import SdkConnector, receive
from biasgrid.tasks.connectors.json_objects import Body
from biasgrid.tasks.connectors.providers.chat import (
    NEW,
    NO_KEY,
    OLD,
    OWN,
    base_address,
    chat_body,
    check_address,
    read_completion,
    token_limit_name,
)

PATH = "/chat/completions"  # posted directly: `create` spends a third of a request's time on its types
MODELS = "/models"


def connect(target: Target, key: str | None, catalog: Catalog) -> Connector:
    """Connector of OpenAI or a compatible server. Raises UserError if the base URL is no http address."""
    return ListedChatCompletions(target, key)


def connect_azure(target: Target, key: str | None, catalog: Catalog) -> Connector:
    """Connector of Azure. Raises UserError if the resource's address or api-version is missing."""
    return ChatCompletions(target, key)


def open_client(
    target: Target, key: str | None, transport: Any, deployment: str | None = None
) -> openai.AsyncOpenAI:
    """The SDK's client, without its own retries. Raises as `check_address`."""
    url = check_address(target)
    shared: dict[str, Any] = {"api_key": key or NO_KEY, "max_retries": 0}
    shared["http_client"] = openai.DefaultAioHttpClient(transport=transport)
    if target.connector != "azure":
        return openai.AsyncOpenAI(base_url=url, **shared)
    return openai.AsyncAzureOpenAI(
        azure_endpoint=url, azure_deployment=deployment, api_version=target.api_version, **shared
    )


class ChatCompletions(SdkConnector):
    """Chat completions of one model."""

    unforeseen = (openai.OpenAIError, httpx2.HTTPError, ValueError, orjson.JSONEncodeError)

    def __init__(self, target: Target, key: str | None) -> None:
        super().__init__(target, key, httpx2)
        self._client = open_client(target, key, self._wire, target.deployment or target.name)
        # OpenAI's models need the new name of the token limit, other servers the old one
        self._spelling = OLD if target.connector == "azure" else token_limit_name(base_address(target, OWN))

    async def ask(self, request: Request) -> Reply:
        spelling = self._spelling
        try:
            return await super().ask(request)
        except RequestRejected as rejected:
            if spelling != OLD or NEW not in str(rejected):
                raise
        # rejected only for the parameter's name, before generation: once per model
        self._spelling = NEW
        return await self.ask(request)

    async def close(self) -> None:
        await self._client.close()

    async def _send(self, request: Request) -> Reply:
        body = chat_body(request, self._name, self._accepted, self._spelling)
        received: Body | None = await self._wire.post_again(orjson.dumps(body))
        if received is None:
            received = await receive(self._client.post(PATH, cast_to=httpx2.Response, body=body))
        return read_completion(received, self._faults)


class ListedChatCompletions(ChatCompletions):
    """Chat completions of a server whose `/models` lists what it serves; Azure's lists what can be deployed."""

    async def is_listed(self) -> bool:
        try:
            listing = (await receive(self._client.get(MODELS, cast_to=httpx2.Response))).document
        except (openai.OpenAIError, httpx2.HTTPError, ValueError):
            return False
        cards = listing.get("data")
        return isinstance(cards, list) and any(
            isinstance(card, dict) and str(card.get("id")) == self._name for card in cards
        )
