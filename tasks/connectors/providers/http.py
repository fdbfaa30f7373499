"""Chatbots behind HTTP: asked and read as an endpoint's file says, with what they remember or without."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import orjson

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.loading.literal_secrets import is_secret
from biasgrid.catalogs.schema.endpoint_request import Call
from biasgrid.catalogs.schema.endpoints import Endpoint
from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.api import Connector, ConnectorError, Hear, Reply, Request, SessionStore
from biasgrid.tasks.connectors.client.error_mapping import SHORTEST_KEY, Faults, without_keys
from biasgrid.tasks.connectors.client.http_exchange import Answered, Exchanges
from biasgrid.tasks.connectors.conversation.state import Conversation, Conversations
from biasgrid.tasks.connectors.providers.endpoint_reply import given_session, read_reply
from biasgrid.tasks.connectors.providers.endpoint_request import Outgoing, outgoing, values_of

if TYPE_CHECKING:
    from biasgrid.catalogs.loading.catalog import Catalog


def connect(target: Target, key: str | None, catalog: Catalog) -> Connector:
    """`key`: the values of the endpoint's environment variables, as a JSON object, as `keys.find_key` gives them.

    Raises UserError where the target has no endpoint.
    """
    if target.endpoint is None:
        what = f"`{target.model}` has connector `http`, and no endpoint says how it is asked"
        raise UserError(
            Problem(what, "models.yaml", "name a model `endpoint/…` that a file of endpoints/ describes")
        )
    return Chatbot(target, target.endpoint, orjson.loads(key) if key else {})


SHORTEST = 4


class Chatbot:
    """A message that fails is sent again in the same conversation: a chatbot that heard it all the same hears it
    twice."""

    def __init__(self, target: Target, endpoint: Endpoint, variables: dict[str, str]) -> None:
        self._endpoint = endpoint
        self._name = target.name
        self._accepted = frozenset(target.parameters)
        self._variables = variables
        self._keys = _keys(endpoint, variables)
        self._faults = Faults(target, *_hidden(variables))
        self._exchanges = Exchanges(self._faults, target.limits.timeout_s)
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
                reply = read_reply(self._endpoint, answered, self._faults)
                return replace(reply, text=without_keys(reply.text, self._keys))
            finally:
                await self._conversations.keep(conversation, before)

    def overhear(self, hear: Hear) -> None:
        self._exchanges.overhear(hear)

    def keep(self, store: SessionStore) -> None:
        self._conversations.store = store

    async def forget(self, session: str) -> None:
        await self._conversations.forget(session)

    async def close(self) -> None:
        await self._exchanges.close()

    async def _begin(self, conversation: Conversation) -> None:
        opening = self._endpoint.opening
        if opening is None or conversation.is_open:
            return
        answered = await self._send(opening, conversation, None)
        self._take_id(answered, conversation)
        conversation.is_open = True

    def _take_id(self, answered: Answered, conversation: Conversation) -> None:
        path = self._endpoint.session_from
        if path is not None and conversation.given is None:
            conversation.given = given_session(path, answered, self._faults)

    async def _send(self, call: Call, conversation: Conversation, request: Request | None) -> Answered:
        return await self._exchanges.send(self._written(call, conversation, request), conversation)

    def _written(self, call: Call, conversation: Conversation, request: Request | None) -> Outgoing:
        ours = None if self._endpoint.session_from else conversation.session
        values = values_of(request, conversation.given or ours, self._name, self._endpoint.turns, self._accepted)
        fault: ConnectorError
        try:
            return outgoing(call, values, self._variables)
        except (ValueError, TypeError):
            fault = self._faults.rejected("the prompt holds characters that cannot be sent as UTF-8")
        raise fault


def _hidden(variables: dict[str, str]) -> list[str]:
    """What no message may hold; a few letters are no secret, and stand in many words."""
    return [part for value in variables.values() for part in value.split() if len(part) >= SHORTEST]


def _keys(endpoint: Endpoint, variables: dict[str, str]) -> list[str]:
    """Those that a reply is looked through for, the longest first: a tenant's name may be a word of any reply."""
    named = ((header, variables.get(name, "")) for name, header in endpoint.variables())
    secret = (value for header, value in named if is_secret(header, value))
    parts = {part for value in secret for part in value.split() if len(part) >= SHORTEST_KEY}
    return sorted(parts, key=len, reverse=True)
