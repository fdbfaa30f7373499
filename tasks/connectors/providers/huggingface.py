"""Hugging Face: hosted inference, or a text-generation-inference server by its base URL."""

from __future__ import annotations

from typing import Any

import httpx2
from huggingface_hub import AsyncInferenceClient
from huggingface_hub.errors import HfHubHTTPError

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.api import Connector, Reply, Request
from biasgrid.tasks.connectors.client.transport import SdkConnector, receive
from biasgrid.tasks.connectors.providers.chat import (
    NO_KEY,
    as_dicts,
    base_address,
    read_completion,
    sampling_parameters,
)


def connect(target: Target, key: str | None, catalog: Catalog) -> Connector:
    """Connector by address: an endpoint's `deployment` or a server's `base_url`. Raises UserError if invalid."""
    endpoint = target.model_copy(update={"base_url": target.deployment or target.base_url})
    url = base_address(endpoint) if endpoint.base_url else None
    if url is None and not (key or "").startswith("hf_"):
        raise UserError(
            Problem(
                f"`{target.model}` is hosted by Hugging Face, and its key is no token of theirs",
                " or ".join(target.key_env) or "models.yaml",
                "tokens begin with hf_; for a server of your own set a base URL",
            )
        )
    return HuggingFace(target, key or NO_KEY, url)


class _Client(AsyncInferenceClient):
    """The SDK's client over our transport, as its own parser of error bodies may fail."""

    def __init__(self, wire: Any, **settings: Any) -> None:
        super().__init__(**settings)
        self._over_wire = httpx2.AsyncClient(transport=wire, follow_redirects=True, timeout=None)

    async def _get_async_client(self) -> httpx2.AsyncClient:
        return self._over_wire

    async def close(self) -> None:
        await self._over_wire.aclose()


class HuggingFace(SdkConnector):
    unforeseen = (HfHubHTTPError, httpx2.HTTPError, ValueError)

    def __init__(self, target: Target, token: str, url: str | None) -> None:
        super().__init__(target, token, httpx2)
        self._client = _Client(self._wire, token=token, base_url=url)

    async def _send(self, request: Request) -> Reply:
        sent = self._client.chat_completion(
            as_dicts(request.messages), model=self._name, **sampling_parameters(request, self._accepted)
        )
        return read_completion(await receive(sent), self._faults)

    async def close(self) -> None:
        await self._client.close()
