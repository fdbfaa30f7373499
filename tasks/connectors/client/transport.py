"""HTTP transport of every SDK: aiohttp below, the SDK's own httpx or httpx2 above."""

# httpx scans its whole pool at each request, and each SDK names the same failure differently. The transport raises
# `ConnectorError`, which the SDKs pass on, so that none of them retries.

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Protocol
from urllib.request import getproxies, proxy_bypass

import aiohttp
import orjson
import yarl

from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.api import ConnectorError, HeaderListener, Reply, Request, withheld_reply
from biasgrid.tasks.connectors.client.error_mapping import ErrorMapper, Withheld
from biasgrid.tasks.connectors.json_objects import parse_body

Exchange = tuple[int, tuple[tuple[bytes, bytes], ...], bytes]


class HttpLibrary(Protocol):
    """The names that httpx and httpx2 share, though not the classes."""

    @property
    def Response(self) -> Callable[..., Any]: ...  # noqa: N802

    @property
    def create_ssl_context(self) -> Callable[..., ssl.SSLContext]: ...


class HttpRequest(Protocol):
    method: str
    headers: Any

    @property
    def url(self) -> Any: ...

    @property
    def content(self) -> bytes: ...


class HttpSession:
    """One HTTP session of a model, opened at its first request."""

    def __init__(self, faults: ErrorMapper, timeout_s: float, library: HttpLibrary, **options: Any) -> None:
        self._faults, self._timeout_s = faults, timeout_s
        self._library, self._options = library, options
        self._listen: HeaderListener | None = None
        self._opened: aiohttp.ClientSession | None = None

    def overhear(self, listen: HeaderListener) -> None:
        """Reports the headers of every reply, whatever its status."""
        self._listen = listen

    async def aclose(self) -> None:
        if self._opened is not None:
            await self._opened.close()

    def _open(self, scheme: str, **options: Any) -> aiohttp.ClientSession:
        if self._opened is None:
            self._opened = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(  # the limiter bounds it
                    limit=0, ssl=self._library.create_ssl_context() if scheme == "https" else True
                ),
                timeout=aiohttp.ClientTimeout(total=self._timeout_s),
                cookie_jar=aiohttp.DummyCookieJar(),
                **self._options,
                **options,
            )
        return self._opened

    def _map_failure(
        self, broken: Exception, what: str = "the reply broke off or was no HTTP", timeout_s: float | None = None
    ) -> ConnectorError:
        """The error for a failed exchange, to be raised outside the handler: aiohttp's exceptions contain keys."""
        if isinstance(broken, TimeoutError):
            return self._faults.timed_out(timeout_s or self._timeout_s)
        if isinstance(broken, aiohttp.ClientPayloadError | aiohttp.ClientResponseError):
            return self._faults.server(what)
        return self._faults.disconnect(broken)


class Received(Exception):
    """The document of a successful reply, raised past the SDK, which fails on what it does not expect in it."""

    def __init__(self, document: dict[str, Any]) -> None:
        super().__init__()
        self.document = document


async def receive(call: Awaitable[object]) -> dict[str, Any]:
    """The document with which a server answered an SDK's request."""
    try:
        await call
    except Received as received:
        return received.document
    raise ValueError("the SDK sent no request")


class Transport(HttpSession):
    """A duck-typed async transport, one per model; reads each reply whole and raises its document."""

    def __init__(self, library: HttpLibrary, faults: ErrorMapper, timeout_s: float) -> None:
        super().__init__(faults, timeout_s, library)
        self._asked: tuple[str, yarl.URL] | None = None
        self._posted: HttpRequest | None = None
        self._followed: tuple[HttpRequest, list[tuple[str, str]]] | None = None
        self._is_redirected = False

    async def handle_async_request(self, request: HttpRequest) -> Any:
        """Raises `Received` if the server replied, a ConnectorError otherwise; returns a redirect only."""
        status, headers, body = await self._exchange(request)
        self._is_redirected |= 300 <= status < 400
        response = self._respond(request, status, headers, body)
        if status >= 400:
            raise self._faults.status(status, response.headers, response.content)
        if status < 300:
            document = self._object(response.headers, response.content)
            if request.method == "POST" and not self._is_redirected:
                self._posted = request
            raise Received(document)
        return response

    async def post_again(self, content: bytes) -> dict[str, Any] | None:
        """Repeats the SDK's last request with another body; returns the document, None if the SDK must send it."""
        # Building a request in the SDK costs twice as much as sending it.
        if self._posted is None:
            return None
        status, raw_headers, body = await self._exchange(self._posted, content)
        if status == 200 and (document := _plain_object(raw_headers, body)) is not None:
            return document
        if 300 <= status < 400:
            self._is_redirected, self._posted = True, None
            return None
        response = self._respond(self._posted, status, raw_headers, body)
        if status >= 400:
            raise self._faults.status(status, response.headers, response.content)
        return self._object(response.headers, response.content)

    async def _exchange(self, request: HttpRequest, content: bytes | None = None) -> Exchange:
        fault: ConnectorError
        try:
            async with self._session(request).request(
                request.method,
                self._address(str(request.url)),
                headers=self._headers(request) if content is None else self._without_length(request),
                data=content or await _read_content(request) or None,
                allow_redirects=False,
                auto_decompress=False,
            ) as response:
                if self._listen is not None and request.method == "POST":  # lists and polls have their own limits
                    self._listen(response.headers)
                return response.status, response.raw_headers, await response.read()
        except (aiohttp.ClientError, TimeoutError, OSError) as broken:
            fault = self._map_failure(broken)
        # outside the handlers: aiohttp's exceptions contain the request's headers, and so the key
        raise fault

    def _headers(self, request: HttpRequest) -> list[tuple[str, str]]:
        return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers.raw]

    def _without_length(self, request: HttpRequest) -> list[tuple[str, str]]:
        """The headers without Content-Length, which aiohttp computes for the new body."""
        if self._followed is None or self._followed[0] is not request:
            kept = [pair for pair in self._headers(request) if pair[0].lower() != "content-length"]
            self._followed = request, kept
        return self._followed[1]

    def _address(self, url: str) -> yarl.URL:
        """The parsed address, cached as a model nearly always uses the same one."""
        if self._asked is None or self._asked[0] != url:
            self._asked = url, yarl.URL(url, encoded=True)
        return self._asked[1]

    def _session(self, request: HttpRequest) -> aiohttp.ClientSession:
        if self._opened is not None:
            return self._opened
        return self._open(request.url.scheme, proxy=find_proxy(request.url.scheme, request.url.host))

    def _respond(self, request: HttpRequest, status: int, headers: Any, body: bytes) -> Any:
        fault: ConnectorError
        try:
            return self._library.Response(status, headers=headers, content=body, request=request)
        except ValueError as unreadable:
            fault = self._faults.unforeseen(unreadable)
        raise fault

    def _object(self, headers: Mapping[str, str], body: bytes) -> dict[str, Any]:
        """The document; detected by content, as some servers send text/plain."""
        if body:
            try:
                document = parse_body(body)
                if isinstance(document, dict):
                    return document
            except ValueError:
                pass
        label = headers.get("content-type", "no content type")
        raise self._faults.server(f"answered with {'no JSON object' if body else 'nothing'} ({label})")


async def _read_content(request: Any) -> Any:
    try:
        return request.content
    except RuntimeError:  # after a redirect the body is a stream again
        return await request.aread()


def _plain_object(raw_headers: Iterable[tuple[bytes, bytes]], body: bytes) -> dict[str, Any] | None:
    """The JSON object in an uncompressed reply, the usual case; None if the reply needs further checks."""
    if any(name.lower() == b"content-encoding" for name, _ in raw_headers):
        return None
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return document if isinstance(document, dict) else None


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
        self._wire: Any = Transport(library, self._faults, target.limits.timeout_s)
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
