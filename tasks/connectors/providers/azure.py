"""OpenAI's models behind an Azure resource: a deployment and an api-version name what answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx2
import openai

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.api import Connector
from biasgrid.tasks.connectors.client.error_mapping import Faults
from biasgrid.tasks.connectors.client.transport import Wire
from biasgrid.tasks.connectors.providers.chat import NO_KEY, OLD, address
from biasgrid.tasks.connectors.providers.openai import ChatCompletions, http_client

if TYPE_CHECKING:
    from biasgrid.catalogs.loading.catalog import Catalog


def connect(target: Target, key: str | None, catalog: Catalog) -> Connector:
    """Raises UserError where the resource's address or its api-version is missing."""
    if not target.api_version:
        raise UserError(
            Problem(
                f"`{target.model}` has no `api_version`",
                "models.yaml",
                "name one at its provider, such as 2024-10-21",
            )
        )
    faults = Faults(target, key)
    wire = Wire(httpx2, faults, target.limits.timeout_s)
    client = openai.AsyncAzureOpenAI(
        api_key=key or NO_KEY,
        azure_endpoint=address(target),
        azure_deployment=target.deployment or target.name,
        api_version=target.api_version,
        max_retries=0,
        http_client=http_client(wire),
    )
    return ChatCompletions(client, wire, target, faults, OLD)
