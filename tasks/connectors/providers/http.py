"""Chatbots behind HTTP, described by an endpoint's file."""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus

import aiohttp
import httpx2
import orjson
import yarl

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.endpoint_request import Call, is_secret
from biasgrid.catalogs.schema.endpoints import Endpoint
from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.api import Connector, ConnectorError, HeaderListener, Reply, Request, SessionStore
from biasgrid.tasks.connectors.client.error_mapping import SHORTEST_KEY, ErrorMapper, without_keys
from biasgrid.tasks.connectors.client.session_state import Conversation, Conversations
from biasgrid.tasks.connectors.client.transport import HttpSession, find_proxy
from biasgrid.tasks.connectors.providers.endpoint_format import (
    EndpointReply,
    EndpointRequest,
    build_request,
    placeholder_values,
    read_reply,
    read_session_id,
)

LONGEST_BODY = 16_000_000
"""Most bytes of a body, so that an endless one does not exhaust memory."""
PIECE = 1 << 16
REDIRECTS = frozenset({301, 302, 303, 307, 308})
MOST_REDIRECTS = 5


class EndpointClient(HttpSession):
    """HTTP client of one model; follows redirects to the same host only, as requests carry credentials."""

    def __init__(self, faults: ErrorMapper, timeout_s: float) -> None:
        super().__init__(faults, timeout_s, httpx2, headers={"User-Agent": "biasgrid"})
        self._proxies: dict[tuple[str, str], str | None] = {}

    async def send(self, outgoing: EndpointRequest, conversation: Conversation) -> EndpointReply:
        """Sends one request and returns its reply. Raises a ConnectorError for every status but success."""
        url = yarl.URL(outgoing.url, encoded=True)
        for _ in range(1 + MOST_REDIRECTS):
            answered = await self._exchange(outgoing, url, conversation)
            if answered.status not in REDIRECTS or "location" not in answered.headers:
                break
            url = self._elsewhere(url, answered.headers["location"])
            if answered.status == HTTPStatus.SEE_OTHER:
                outgoing = replace(outgoing, method="GET", content=None)
        else:
            raise self._faults.unknown("redirects without end; check the `url` of the endpoint's file")
        if answered.status >= HTTPStatus.MULTIPLE_CHOICES:
            raise self._faults.status(answered.status, answered.headers, answered.body)
        return answered

    async def _exchange(
        self, outgoing: EndpointRequest, url: yarl.URL, conversation: Conversation
    ) -> EndpointReply:
        fault: ConnectorError
        try:
            async with self._open(url.scheme).request(
                outgoing.method,
                url,
                headers=_with_cookie(outgoing, conversation.cookie(url)),
                data=outgoing.content,
                allow_redirects=False,
                proxy=self._proxy(url),
            ) as response:
                if self._listen is not None:
                    self._listen(response.headers)
                conversation.take_cookies(url, response.cookies)
                return EndpointReply(response.status, response.headers, await self._whole(response))
        except (aiohttp.ClientError, TimeoutError, OSError) as broken:
            fault = self._map_failure(broken)
        # outside the handlers: aiohttp's exceptions contain the request's headers, and so the keys
        raise fault

    async def _whole(self, response: aiohttp.ClientResponse) -> bytes:
        pieces = bytearray()
        async for piece in response.content.iter_chunked(PIECE):
            pieces += piece
            if len(pieces) > LONGEST_BODY:
                raise self._faults.server(f"answered with more than {LONGEST_BODY // 1_000_000} MB")
        return bytes(pieces)

    def _elsewhere(self, url: yarl.URL, location: str) -> yarl.URL:
        try:
            wanted = url.join(yarl.URL(location))
        except ValueError:
            wanted = yarl.URL()
        is_same = wanted.origin() == url.origin() if wanted.absolute else False
        is_safer = wanted.host == url.host and (url.scheme, wanted.scheme) == ("http", "https")
        if not (is_same or is_safer):
            elsewhere = f"`{wanted.host}`" if wanted.host else "no address"
            raise self._faults.unknown(
                f"redirects to {elsewhere}, and nothing is sent to another host; if it is the chatbot's, write it "
                "as the `url` of the endpoint's file"
            )
        return wanted

    def _proxy(self, url: yarl.URL) -> str | None:
        at = (url.scheme, url.host or "")
        if at not in self._proxies:
            self._proxies[at] = find_proxy(*at)
        return self._proxies[at]


def _with_cookie(outgoing: EndpointRequest, cookie: str) -> dict[str, str]:
    """The file's headers with the conversation's cookies added."""
    own = dict(outgoing.headers)
    if outgoing.content is None:
        own = {name: value for name, value in own.items() if name.lower() != "content-type"}
    sent = next((name for name in own if name.lower() == "cookie"), "Cookie")
    cookies = "; ".join(part for part in (own.get(sent, ""), cookie) if part)
    return own | ({sent: cookies} if cookies else {})


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
        self._exchanges = EndpointClient(self._faults, target.limits.timeout_s)
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
                return read_reply(self._endpoint, answered, self._faults, self._without_keys)
            finally:
                await self._conversations.keep(conversation, before)

    def _without_keys(self, text: str) -> str:
        return without_keys(text, self._keys)

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

    def _take_id(self, answered: EndpointReply, conversation: Conversation) -> None:
        path = self._endpoint.session_from
        if path is not None and conversation.given is None:
            conversation.given = read_session_id(path, answered, self._faults)

    async def _send(self, call: Call, conversation: Conversation, request: Request | None) -> EndpointReply:
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
            return await self._exchanges.send(outgoing, conversation)
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
