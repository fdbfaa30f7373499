"""Chatbots behind HTTP, described by an endpoint's file."""

from __future__ import annotations

from functools import partial

import httpx2
import orjson

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.endpoint_request import Call, is_secret
from biasgrid.catalogs.schema.endpoints import Endpoint
from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.api import (
    Connector,
    ConnectorError,
    HeaderListener,
    Reply,
    Request,
    SessionStore,
    withheld_reply,
)
from biasgrid.tasks.connectors.client.error_mapping import SHORTEST_KEY, ErrorMapper, Withheld, without_keys
from biasgrid.tasks.connectors.client.session_state import Conversation, Conversations
from biasgrid.tasks.connectors.client.transport import HttpReply, HttpSession
from biasgrid.tasks.connectors.providers.endpoint_format import (
    build_request,
    placeholder_values,
    read_reply,
    read_session_id,
)


def connect(target: Target, key: str | None, catalog: Catalog) -> Connector:
    """Connector of an endpoint; `key`: its variables as a JSON object. Raises UserError for no endpoint."""
    if target.endpoint is None:
        what = f"`{target.model}` has connector `http`, and no endpoint describes its requests"
        raise UserError(
            Problem(what, "models.yaml", "name a model `endpoint/…` that a file of endpoints/ describes")
        )
    return Chatbot(target, target.endpoint, orjson.loads(key) if key else {})


SHORTEST = 4


class Chatbot:
    """A chatbot; a failed message is sent again in the same conversation, although it may have arrived."""

    def __init__(self, target: Target, endpoint: Endpoint, variables: dict[str, str]) -> None:
        self._endpoint = endpoint
        self._name = target.name
        self._accepted = frozenset(target.parameters)
        self._variables = variables
        self._keys = _reply_keys(endpoint, variables)
        self._faults = ErrorMapper(target, *_secret_parts(variables))
        self._exchanges = HttpSession(self._faults, target.limits, httpx2, headers={"User-Agent": "biasgrid"})
        self._conversations = Conversations()

    async def ask(self, request: Request) -> Reply:
        remembers = self._endpoint.remembers != "none"
        conversation = self._conversations.of(request.session if remembers else None)
        async with conversation.turn:
            before = conversation.state()
            try:
                await self._begin(conversation)
                answered = await self._send(self._endpoint, conversation, request)
                self._take_id(answered, conversation)
                return read_reply(self._endpoint, answered, self._faults, partial(without_keys, keys=self._keys))
            except Withheld:
                return withheld_reply()
            finally:
                await self._conversations.keep(conversation, before)

    def overhear(self, listen: HeaderListener) -> None:
        self._exchanges.overhear(listen)

    def keep(self, store: SessionStore) -> None:
        self._conversations.store = store

    async def forget(self, session: str) -> None:
        await self._conversations.forget(session)

    async def close(self) -> None:
        await self._exchanges.aclose()

    async def _begin(self, conversation: Conversation) -> None:
        opening = self._endpoint.opening
        if opening is None or conversation.is_open:
            return
        answered = await self._send(opening, conversation, None)
        self._take_id(answered, conversation)
        conversation.is_open = True

    def _take_id(self, answered: HttpReply, conversation: Conversation) -> None:
        path = self._endpoint.session_from
        if path is not None and conversation.given is None:
            conversation.given = read_session_id(path, answered, self._faults)

    async def _send(self, call: Call, conversation: Conversation, request: Request | None) -> HttpReply:
        ours = None if self._endpoint.session_from else conversation.session
        values = placeholder_values(
            request, conversation.given or ours, self._name, self._endpoint.turns, self._accepted
        )
        fault: ConnectorError
        try:
            outgoing = build_request(call, values, self._variables)
        except (ValueError, TypeError):
            fault = self._faults.reject("the prompt holds characters that cannot be sent as UTF-8")
        else:
            return await self._exchanges.fetch(outgoing, conversation)
        raise fault


def _secret_parts(variables: dict[str, str]) -> list[str]:
    """Parts of secrets that messages must not contain, without very short ones."""
    return [part for value in variables.values() for part in value.split() if len(part) >= SHORTEST]


def _reply_keys(endpoint: Endpoint, variables: dict[str, str]) -> list[str]:
    """Secrets that are removed from replies, longest first; ordinary words such as a tenant's name stay."""
    named = ((header, variables.get(name, "")) for name, header in endpoint.variables())
    secret = (value for header, value in named if is_secret(header, value))
    parts = {part for value in secret for part in value.split() if len(part) >= SHORTEST_KEY}
    return sorted(parts, key=len, reverse=True)
