"""Defines models and their providers: connection, cost and accepted parameters."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field

from biasgrid.catalogs.schema.base import Frozen
from biasgrid.catalogs.schema.endpoints import Endpoint

Parameter = Literal["temperature", "max_tokens", "seed"]


class Prices(Frozen):
    """US dollars per million tokens."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    request: float = Field(default=0, ge=0)
    """US dollars for a request, in addition to its tokens."""
    training: float | None = Field(default=None, ge=0)
    """US dollars per million tokens that the model is fine-tuned on, each epoch anew."""


class Limits(Frozen):
    concurrency: int = Field(default=16, ge=1)
    """Requests in flight at once, for all cells of a process."""
    requests_per_minute: int | None = Field(default=None, ge=1)
    tokens_per_minute: int | None = Field(default=None, ge=1)
    """Sent and received together, as the provider counts them."""
    timeout_s: float = Field(default=60, gt=0)
    """How long one attempt may take."""
    max_reply_mb: float = Field(default=16, gt=0, le=1000)
    """Most megabytes of a reply's body, decompressed; a longer one is not read."""


class Batching(Frozen):
    """A provider's batch API: replies within a day, at a discount."""

    discount: float = Field(default=0.5, ge=0, le=1)
    """Share of the list price that is not charged."""
    requests: int = Field(default=50_000, ge=1)
    """Most requests of one batch."""
    megabytes: float = Field(default=200, gt=0)
    """Largest input file, in units of 10^6 bytes."""


class Provider(Frozen):
    connector: str
    """openai, azure, anthropic, huggingface, replicate, http, transformers, simulated, replay, or an entry point
    `biasgrid.connectors`."""
    base_url: str | None = None
    base_url_env: str | None = None
    """The provider's own environment variable for its address; it wins over `base_url`."""
    key_env: tuple[str, ...] = ()
    """Environment variables searched for the key, in order; none: no key is needed."""
    limits: Limits = Limits()
    limits_per: Literal["provider", "model"] = "provider"
    """Whether requests and tokens per minute, and what a 429 asks for, hold for all its models together or for
    each. Concurrency is always shared by all of a provider's models."""
    batch: Batching | None = None
    """Its batch API, where it has one: what `--batch` uses."""
    tunes: bool = False
    """Whether `biasgrid finetune` finds OpenAI's fine-tuning API there."""
    structured: bool = False
    """Whether its models reply by a JSON Schema where they are sent one, as `response_format`."""
    models: Literal["listed", "any"] = "listed"
    """listed: only models named in this file, so that a misspelt one is found before the first call."""
    api_version: str | None = None
    """Azure's api-version."""
    parameters: tuple[Parameter, ...] = ("temperature", "max_tokens", "seed")
    """The parameters that its models accept, unless their entries list others."""


class ModelEntry(Frozen):
    name: str | None = None
    """What is sent as the model's name; by default the part after `provider/`."""
    deployment: str | None = None
    """Azure's deployment, or a dedicated endpoint's address."""
    prices: Prices | None = None
    limits: Limits | None = None
    """Its own: each that is set holds for this model alone, in place of the provider's."""
    aliases: tuple[str, ...] = ()
    """Other names, LangBiTe's keys such as `OpenAIGPT4o` among them."""
    parameters: tuple[Parameter, ...] | None = None
    """The parameters it accepts; others are not sent, and what was sent is stored. None: those of its provider."""
    structured: bool | None = None
    """Whether it replies by a JSON Schema; None: as its provider's models do."""

    def as_tuned(self) -> ModelEntry:
        """The entry of a fine-tuned model, without the price, which differs."""
        return ModelEntry(limits=self.limits, parameters=self.parameters, structured=self.structured)


TUNED = re.compile(r"(?P<provider>[^/]+)/ft:(?P<base>[^:]+):")
DATED = re.compile(r"-\d{4}-\d{2}-\d{2}$")


def bases_of(model: str) -> list[str]:
    """Possible bases of a tuned model (`openai/ft:gpt-4o-mini-2024-07-18:org:own:id`), with and without date."""
    found = TUNED.match(model)
    if found is None:
        return []
    base = f"{found['provider']}/{found['base']}"
    return list(dict.fromkeys((base, DATED.sub("", base))))


class ModelsFile(Frozen):
    """catalogs/models.yaml."""

    providers: dict[str, Provider] = Field(default_factory=dict)
    models: dict[str, ModelEntry] = Field(default_factory=dict)


class Target(Frozen):
    """A model with everything that is needed to reach it: an entry of models.yaml, resolved. Holds no key."""

    model: str
    """provider/model"""
    provider: str
    name: str
    """As sent."""
    connector: str
    base_url: str | None = None
    deployment: str | None = None
    api_version: str | None = None
    key_env: tuple[str, ...] = ()
    prices: Prices | None = None
    limits: Limits = Limits()
    own_limits: tuple[str, ...] = ()
    """The limits that hold for this model alone; its provider's other models share the rest."""
    batch: Batching | None = None
    tunes: bool = False
    parameters: tuple[str, ...] = ("temperature", "max_tokens", "seed")
    structured: bool = False
    endpoint: Endpoint | None = None
    """Of a chatbot behind HTTP: how it is asked."""

    @property
    def has_batch_api(self) -> bool:
        """Whether its connector supports its batch API."""
        return self.batch is not None and self.connector in BATCH_CONNECTORS


BATCH_CONNECTORS = ("openai", "anthropic")
"""Connectors with a supported batch API."""
ENDPOINT = "endpoint"
"""The provider of chatbots behind HTTP."""
HTTP = "http"
"""Their connector."""


def endpoint_target(name: str, endpoint: Endpoint) -> Target:
    """A chatbot as a model, `endpoint/<name>`, with limits of its own only."""
    price = endpoint.usd_per_request
    return Target(
        model=f"{ENDPOINT}/{name}",
        provider=ENDPOINT,
        name=name,
        connector=HTTP,
        base_url=endpoint.url,
        prices=None if price is None else Prices(input=0, output=0, request=price),
        limits=Limits(
            concurrency=endpoint.concurrency,
            requests_per_minute=endpoint.requests_per_minute,
            timeout_s=endpoint.timeout_s,
        ),
        own_limits=("concurrency", "requests_per_minute", "tokens_per_minute"),
        parameters=endpoint.parameters,
        endpoint=endpoint,
    )


PATIENCE_S = 300.0
"""A reply that holds many things takes longer to write than an answer."""


def patient(target: Target) -> Target:
    """The target with a timeout long enough for a long reply."""
    limits = target.limits.model_copy(update={"timeout_s": max(target.limits.timeout_s, PATIENCE_S)})
    return target.model_copy(update={"limits": limits})
