"""HTTP transport of every SDK: aiohttp below, the SDK's own httpx or httpx2 above."""

# httpx scans its whole pool at each request, and each SDK names the same failure differently. The transport raises
# `ConnectorError`, which the SDKs pass on, so that none of them retries.

from __future__ import annotations

import asyncio
import ssl
import zlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from http.cookies import SimpleCookie
from typing import Any, NoReturn, Protocol
from urllib.request import getproxies, proxy_bypass

import aiohttp
import yarl
from aiohttp.client_proto import ResponseHandler

from biasgrid.catalogs.schema.models import Limits, Target
from biasgrid.tasks.connectors.api import ConnectorError, HeaderListener, Reply, Request, withheld_reply
from biasgrid.tasks.connectors.client.error_mapping import ErrorMapper, Withheld, is_page
from biasgrid.tasks.connectors.json_objects import Body, parse_body

REDIRECTS = frozenset({301, 302, 303, 307, 308})
MOST_REDIRECTS = 5
ENCODINGS = "gzip, deflate"
"""What servers may compress replies by: both are read piece by piece, within bounds."""
GONE_S = 0.5
"""Seconds without a byte after which it is looked whether the connection is still open."""
GZIP = b"\x1f"
"""First byte of a member."""
LONGEST_ERROR = 1 << 16
"""Bytes that are read of an error's body."""


class HttpLibrary(Protocol):
    """The name that httpx and httpx2 share, though not the classes."""

    @property
    def create_ssl_context(self) -> Callable[..., ssl.SSLContext]: ...


class HttpRequest(Protocol):
    """A request of an SDK."""

    method: str
    headers: Any

    @property
    def url(self) -> Any: ...

    @property
    def content(self) -> Any: ...


@dataclass(frozen=True, slots=True)
class Outgoing:
    method: str
    url: yarl.URL
    headers: list[tuple[str, str]]
    content: Any = None


@dataclass(frozen=True, slots=True)
class HttpReply:
    """A complete reply, its body decompressed."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "no content type")

    @property
    def beginning(self) -> str:
        return self.body.strip()[:1000].decode(errors="replace")


class Cookies(Protocol):
    """What a conversation stores between requests."""

    def cookie(self, url: yarl.URL) -> str: ...

    def take_cookies(self, url: yarl.URL, cookies: SimpleCookie) -> None: ...


class WholeReplies(ResponseHandler):
    """Receives a head before what follows it: aiohttp drops a whole reply if garbage arrives in the same piece."""

    def data_received(self, data: bytes) -> None:
        end = data.find(b"\r\n\r\n") + 4
        if 4 <= end < len(data):
            super().data_received(data[:end])
            data = data[end:]
        super().data_received(data)


class HttpSession:
    """One HTTP session of a model, opened at its first request; reads bodies within `max_reply_mb`."""

    def __init__(self, faults: ErrorMapper, limits: Limits, library: HttpLibrary, **options: Any) -> None:
        self._faults, self._timeout_s = faults, limits.timeout_s
        self._most = int(limits.max_reply_mb * 1_000_000)
        self._library, self._options = library, options
        self._listen: HeaderListener | None = None
        self._opened: aiohttp.ClientSession | None = None
        self._proxies: dict[tuple[str, str], str | None] = {}

    def overhear(self, listen: HeaderListener) -> None:
        """Reports the headers of every reply, whatever its status."""
        self._listen = listen

    async def aclose(self) -> None:
        if self._opened is not None:
            await self._opened.close()

    async def fetch(self, outgoing: Outgoing, cookies: Cookies | None = None) -> HttpReply:
        """The reply, after redirects within one origin. Raises a ConnectorError for every status but success."""
        for _ in range(1 + MOST_REDIRECTS):
            reply = await self._exchange(outgoing, cookies)
            if reply.status not in REDIRECTS or "location" not in reply.headers:
                break
            outgoing = self._redirect(outgoing, reply)
        else:
            raise self._faults.unknown("redirects without end: a redirect loop; check the address")
        self._faults.host = outgoing.url.authority
        if reply.status >= HTTPStatus.MULTIPLE_CHOICES:
            raise self._faults.status(reply.status, reply.headers, reply.body)
        if is_page(reply.body):
            raise self._faults.page(reply.status, reply.body)
        return reply

    def parse_object(self, reply: HttpReply) -> dict[str, Any]:
        """The document of a reply; detected by content, as some servers send text/plain."""
        try:
            document = parse_body(reply.body)
        except ValueError:
            document = None
        if isinstance(document, dict):
            return document
        if isinstance(document, list) and document and isinstance(document[0], dict):
            return document[0]  # Google reports an error as the only entry of a list
        raise self._faults.no_object(reply.body, reply.content_type)

    async def _exchange(self, outgoing: Outgoing, cookies: Cookies | None) -> HttpReply:
        fault: ConnectorError
        url = outgoing.url
        headers = outgoing.headers if cookies is None else _add_cookie(outgoing, cookies.cookie(url))
        try:
            async with self._open(url).request(
                outgoing.method,
                url,
                headers=headers,
                data=outgoing.content or None,
                allow_redirects=False,
                proxy=self._proxy(url),
            ) as response:
                # lists and polls of an SDK have their own limits
                if self._listen is not None and (outgoing.method == "POST" or cookies is not None):
                    self._listen(response.headers)
                if cookies is not None:
                    cookies.take_cookies(url, response.cookies)
                return HttpReply(response.status, response.headers, await self._read(response))
        except (aiohttp.ClientError, TimeoutError, OSError) as broken:
            fault = self._map_failure(broken)
        except zlib.error:
            fault = self._faults.unreadable(
                "the reply cannot be decompressed: it is not what its Content-Encoding states"
            )
        # outside the handlers: aiohttp's exceptions contain the request's headers, and so the key
        raise fault

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        """The body, decompressed; of an error only the beginning."""
        failed = response.status >= HTTPStatus.MULTIPLE_CHOICES
        most, length = LONGEST_ERROR if failed else self._most, response.content_length
        encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
        if encoding == "identity" and length is not None and length <= most:
            return await response.read()
        if encoding not in ("identity", "gzip", "x-gzip", "deflate"):
            raise self._faults.unreadable(
                f"the reply is compressed by `{encoding[:40]}`, and only {ENCODINGS} are read"
            )
        body, inflate = bytearray(), None if encoding == "identity" else Inflater()
        while piece := await _next_piece(response):
            body += inflate.read(piece, most + 1 - len(body)) if inflate else piece
            if len(body) > most:
                if failed:
                    break
                raise self._faults.too_long(f"has more than {most / 1_000_000:g} MB, which `max_reply_mb` sets")
        if inflate and not inflate.is_complete and not failed:
            raise self._faults.unreadable("the reply broke off within its compressed body")
        return bytes(body[:most])

    def _redirect(self, outgoing: Outgoing, reply: HttpReply) -> Outgoing:
        """The request at the address to which a reply points. Raises ModelUnknown for another host."""
        url = outgoing.url
        try:
            wanted = url.join(yarl.URL(reply.headers["location"]))
        except ValueError:
            wanted = yarl.URL()
        is_same = wanted.origin() == url.origin() if wanted.absolute else False
        is_safer = wanted.host == url.host and (url.scheme, wanted.scheme) == ("http", "https")
        if not (is_same or is_safer):
            raise self._faults.elsewhere(f"`{wanted.host}`" if wanted.host else "no address")
        if reply.status == HTTPStatus.SEE_OTHER:
            return replace(outgoing, url=wanted, method="GET", content=None)
        return replace(outgoing, url=wanted)

    def _open(self, url: yarl.URL) -> aiohttp.ClientSession:
        if self._opened is None:
            ssl_context = self._library.create_ssl_context() if url.scheme == "https" else True
            connector = aiohttp.TCPConnector(limit=0, ssl=ssl_context)  # the limiter bounds it
            connector._factory = partial(WholeReplies, loop=asyncio.get_running_loop())  # type: ignore[assignment]
            self._opened = aiohttp.ClientSession(
                connector=connector,
                timeout=aiohttp.ClientTimeout(total=self._timeout_s),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                **self._options,
            )
        return self._opened

    def _proxy(self, url: yarl.URL) -> str | None:
        at = (url.scheme, url.host or "")
        if at not in self._proxies:
            self._proxies[at] = find_proxy(*at)
        return self._proxies[at]

    def _map_failure(
        self, broken: Exception, what: str = "the reply broke off or was no HTTP", timeout_s: float | None = None
    ) -> ConnectorError:
        """The error for a failed exchange, to be raised outside the handler: aiohttp's exceptions contain keys."""
        if isinstance(broken, TimeoutError):
            return self._faults.timed_out(timeout_s or self._timeout_s)
        if isinstance(broken, aiohttp.ClientHttpProxyError):
            return self._faults.unknown(
                f"the proxy refused the connection (HTTP {broken.status}); check its address"
            )
        if isinstance(broken, aiohttp.ClientPayloadError | aiohttp.ClientResponseError):
            return self._faults.server(what)
        return self._faults.disconnect(broken, is_sent=not isinstance(broken, aiohttp.ClientConnectorError))


async def _next_piece(response: aiohttp.ClientResponse) -> bytes:
    """The next bytes of a body, empty at its end. Raises ClientPayloadError if the connection is gone."""
    # aiohttp closes the connection at a malformed chunk, and leaves the reader of the body waiting
    while True:
        try:
            async with asyncio.timeout(GONE_S) as watch:
                return await response.content.readany()
        except TimeoutError:
            if not watch.expired():
                raise
        connection = response.connection
        if connection is not None and (connection.transport is None or connection.transport.is_closing()):
            raise aiohttp.ClientPayloadError("the connection closed within a body")


class Inflater:
    """Decompresses gzip, of several members too, and deflate with or without a header of zlib, in pieces."""

    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)  # recognises both headers
        self._begins = True

    @property
    def is_complete(self) -> bool:
        """Whether what was read ends with a member; another may follow."""
        return self._inflate.eof

    def read(self, piece: bytes, most: int) -> bytes:
        """At most `most` bytes of the text. Raises zlib.error for anything else."""
        text = bytearray()
        while piece and len(text) < most:
            if self._inflate.eof:
                if not piece.startswith(GZIP):  # padding, or garbage after the end
                    break
                self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)
            text += self._read_member(piece, most - len(text))
            piece = self._inflate.unused_data
        return bytes(text)

    def _read_member(self, piece: bytes, most: int) -> bytes:
        try:
            text = self._inflate.decompress(piece, most)
        except zlib.error:
            if not self._begins:
                raise
            self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)
            text = self._inflate.decompress(piece, most)
        self._begins = False
        return text


def _add_cookie(outgoing: Outgoing, cookie: str) -> dict[str, str]:
    """The headers with a conversation's cookies added; without a body they have no content type."""
    own = {"Accept-Encoding": ENCODINGS} | dict(outgoing.headers)
    if outgoing.content is None:
        own = {name: value for name, value in own.items() if name.lower() != "content-type"}
    sent = next((name for name in own if name.lower() == "cookie"), "Cookie")
    cookies = "; ".join(part for part in (own.get(sent, ""), cookie) if part)
    return own | ({sent: cookies} if cookies else {})


class Received(Exception):
    """A successful reply with its document, raised past the SDK, which fails on what it does not expect in it."""

    def __init__(self, body: Body) -> None:
        super().__init__()
        self.body = body


async def receive(call: Awaitable[object]) -> Body:
    """The reply to an SDK's request."""
    try:
        await call
    except Received as received:
        return received.body
    raise ValueError("the SDK sent no request")


class Transport(HttpSession):
    """A duck-typed async transport, one per model; reads each reply whole and raises it as `Received`."""

    def __init__(self, library: HttpLibrary, faults: ErrorMapper, limits: Limits) -> None:
        super().__init__(faults, limits, library)
        self._posted: Outgoing | None = None

    async def handle_async_request(self, request: HttpRequest) -> NoReturn:
        """Raises `Received` if the server replied, a ConnectorError otherwise."""
        outgoing = Outgoing(
            request.method, yarl.URL(str(request.url), encoded=True), _headers(request), request.content
        )
        received = await self._receive(outgoing)
        if request.method == "POST":
            # of another length: aiohttp computes it for the next body
            kept = [pair for pair in outgoing.headers if pair[0].lower() != "content-length"]
            self._posted = replace(outgoing, headers=kept, content=None)
        raise Received(received)

    async def post_again(self, content: bytes) -> Body | None:
        """Repeats the SDK's last request with another body; None if the SDK must send it."""
        # Building a request in the SDK costs twice as much as sending it.
        return None if self._posted is None else await self._receive(replace(self._posted, content=content))

    async def _receive(self, outgoing: Outgoing) -> Body:
        reply = await self.fetch(outgoing)
        return Body(self.parse_object(reply), reply.body)


def _headers(request: HttpRequest) -> list[tuple[str, str]]:
    """The SDK's headers, with the encodings that are read within bounds."""
    pairs = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers.raw]
    return [*(pair for pair in pairs if pair[0].lower() != "accept-encoding"), ("Accept-Encoding", ENCODINGS)]


def find_proxy(scheme: str, host: str) -> str | None:
    """The environment's proxy, or None."""
    # aiohttp's own look-up reads ~/.netrc at each request, and fails if it names the host.
    return None if proxy_bypass(host) else getproxies().get(scheme)


class SdkConnector:
    """What connectors over a provider's SDK share: the transport, and errors without keys."""

    unforeseen: tuple[type[Exception], ...]
    """What the SDK raises besides our own errors."""

    def __init__(self, target: Target, key: str | None, library: HttpLibrary) -> None:
        self._faults = ErrorMapper(target, key)
        self._wire: Any = Transport(library, self._faults, target.limits)
        self._name = target.name
        self._accepted = frozenset(target.parameters)

    async def ask(self, request: Request) -> Reply:
        """The reply; one without text if a content filter stopped the prompt."""
        fault: ConnectorError
        try:
            return await self._send(request)
        except Withheld:
            return withheld_reply()
        except self.unforeseen as error:
            fault = self._faults.unforeseen(error)
        raise fault

    async def _send(self, request: Request) -> Reply:
        raise NotImplementedError

    def overhear(self, listen: HeaderListener) -> None:
        self._wire.overhear(listen)

    async def close(self) -> None:
        await self._wire.aclose()
