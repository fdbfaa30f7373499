"""OpenAI and compatible servers with chat completions: vLLM, Ollama, llama.cpp, gateways."""

from __future__ import annotations

from typing import Any

import httpx2
import openai
import orjson

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.api import (
    Connector,
    ConnectorError,
    HeaderListener,
    Reply,
    Request,
    RequestRejected,
)
from biasgrid.tasks.connectors.client.error_mapping import ErrorMapper, Withheld
from biasgrid.tasks.connectors.client.transport import Transport
from biasgrid.tasks.connectors.json_objects import parse_body
from biasgrid.tasks.connectors.providers.chat import (
    NEW,
    NO_KEY,
    OLD,
    base_address,
    chat_body,
    read_completion,
    token_limit_name,
    withheld_reply,
)

OWN = "https://api.openai.com/v1"
PATH = "/chat/completions"  # posted directly: `create` spends a third of a request's time on its types
MODELS = "/models"


def connect(target: Target, key: str | None, catalog: Catalog) -> Connector:
    """Connector of OpenAI or a compatible server. Raises UserError if the base URL is no http address."""
    url = base_address(target, OWN)
    faults = ErrorMapper(target, key)
    wire = Transport(httpx2, faults, target.limits.timeout_s)
    client = openai.AsyncOpenAI(
        api_key=key or NO_KEY,
        base_url=url,
        max_retries=0,
        http_client=http_client(wire),
    )
    return ListedChatCompletions(client, wire, target, faults, token_limit_name(url))


def connect_azure(target: Target, key: str | None, catalog: Catalog) -> Connector:
    """Connector of Azure. Raises UserError if the resource's address or api-version is missing."""
    if not target.api_version:
        remedy = "name one at its provider, such as 2024-10-21"
        raise UserError(Problem(f"`{target.model}` has no `api_version`", "models.yaml", remedy))
    faults = ErrorMapper(target, key)
    wire = Transport(httpx2, faults, target.limits.timeout_s)
    client = openai.AsyncAzureOpenAI(
        api_key=key or NO_KEY,
        azure_endpoint=base_address(target),
        azure_deployment=target.deployment or target.name,
        api_version=target.api_version,
        max_retries=0,
        http_client=http_client(wire),
    )
    return ChatCompletions(client, wire, target, faults, OLD)


def http_client(wire: Any) -> httpx2.AsyncClient:
    return openai.DefaultAioHttpClient(transport=wire)


class ChatCompletions:
    """Chat completions of one model; `spelling` is the server's name of the token limit."""

    # OpenAI's models need the new name, other servers the old one.

    def __init__(
        self, client: openai.AsyncOpenAI, wire: Transport, target: Target, faults: ErrorMapper, spelling: str
    ) -> None:
        self._client = client
        self._wire = wire
        self._name = target.name
        self._accepted = frozenset(target.parameters)
        self._faults = faults
        self._spelling = spelling

    async def ask(self, request: Request) -> Reply:
        spelling = self._spelling
        try:
            return await self._send(request, spelling)
        except Withheld:
            return withheld_reply()
        except RequestRejected as rejected:
            if spelling != OLD or NEW not in str(rejected):
                raise
        # rejected only for the parameter's name, before generation: once per model
        self._spelling = NEW
        return await self.ask(request)

    def overhear(self, hear: HeaderListener) -> None:
        self._wire.overhear(hear)

    async def close(self) -> None:
        await self._client.close()

    async def _send(self, request: Request, spelling: str) -> Reply:
        body = chat_body(request, self._name, self._accepted, spelling)
        fault: ConnectorError
        try:
            document: object = await self._wire.post_again(orjson.dumps(body))
            if document is None:
                response = await self._client.post(PATH, cast_to=httpx2.Response, body=body)
                document = parse_body(response.content)
            return read_completion(document, self._faults)
        except orjson.JSONEncodeError:
            fault = self._faults.rejected("the prompt holds characters that cannot be sent as UTF-8")
        except (openai.OpenAIError, httpx2.HTTPError, ValueError) as unforeseen:
            fault = self._faults.unforeseen(unforeseen)
        raise fault


class ListedChatCompletions(ChatCompletions):
    """Chat completions of a server whose `/models` lists what it serves; Azure's lists what can be deployed."""

    async def is_listed(self) -> bool:
        try:
            response = await self._client.get(MODELS, cast_to=httpx2.Response)
            return self._name in _listed_ids(parse_body(response.content))
        except (openai.OpenAIError, httpx2.HTTPError, ValueError):
            return False


def _listed_ids(listing: object) -> set[str]:
    """The ids in a list of models; tolerates any other content."""
    cards = listing.get("data") if isinstance(listing, dict) else None
    return {str(card.get("id")) for card in cards if isinstance(card, dict)} if isinstance(cards, list) else set()
