"""HTTP transport of every SDK: aiohttp below, the SDK's own httpx or httpx2 above."""

# httpx scans its whole pool at each request, and each SDK names the same failure differently. The transport raises
# `ConnectorError`, which the SDKs pass on, so that none of them retries.

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Any, Protocol
from urllib.request import getproxies, proxy_bypass

import aiohttp
import httpx2
import orjson
import yarl

from biasgrid.tasks.connectors.api import ConnectorError, HeaderListener
from biasgrid.tasks.connectors.client.error_mapping import ErrorMapper
from biasgrid.tasks.connectors.json_objects import parse_readable

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


class Transport:
    """A duck-typed async transport, one per model; reads each reply whole before returning it."""

    def __init__(self, library: HttpLibrary, faults: ErrorMapper, timeout_s: float) -> None:
        self._library = library
        self._faults = faults
        self._timeout_s = timeout_s
        self._hear: HeaderListener | None = None
        self._asked: tuple[str, yarl.URL] | None = None
        self._posted: HttpRequest | None = None
        self._followed: tuple[HttpRequest, list[tuple[str, str]]] | None = None
        self._is_redirected = False
        self._open: aiohttp.ClientSession | None = None

    def overhear(self, hear: HeaderListener) -> None:
        """Reports the headers of every reply, whatever its status."""
        self._hear = hear

    async def handle_async_request(self, request: HttpRequest) -> Any:
        """The library's own response, status below 400, with a JSON object as its body if it succeeded."""
        status, headers, body = await self._exchange(request)
        self._is_redirected |= 300 <= status < 400
        response = self._respond(request, status, headers, body)
        if status >= 400:
            raise self._faults.status(status, response.headers, response.content)
        if status < 300:
            _, readable = self._object(response.headers, response.content)
            if request.method == "POST" and not self._is_redirected:
                self._posted = request
            if readable is not response.content:
                return self._respond(request, status, {"content-type": "application/json"}, readable)
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
        return self._object(response.headers, response.content)[0]

    async def aclose(self) -> None:
        if self._open is not None:
            await self._open.close()

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
                if self._hear is not None and request.method == "POST":  # lists and polls have limits of their own
                    self._hear(response.headers)
                return response.status, response.raw_headers, await response.read()
        except (aiohttp.ClientError, TimeoutError, OSError) as broken:
            fault = map_failure(broken, self._faults, self._timeout_s)
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
        if self._open is None:
            verify = self._library.create_ssl_context() if request.url.scheme == "https" else True
            proxy = find_proxy(request.url.scheme, request.url.host)
            self._open = open_session(verify, self._timeout_s, proxy=proxy)
        return self._open

    def _respond(self, request: HttpRequest, status: int, headers: Any, body: bytes) -> Any:
        fault: ConnectorError
        try:
            return self._library.Response(status, headers=headers, content=body, request=request)
        except ValueError as unreadable:
            fault = self._faults.unforeseen(unreadable)
        raise fault

    def _object(self, headers: Mapping[str, str], body: bytes) -> tuple[dict[str, Any], bytes]:
        """The document and an SDK-readable body; detected by content, as some servers send text/plain."""
        if body:
            try:
                document, readable = parse_readable(body)
                if isinstance(document, dict):
                    return document, readable
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


def open_session(verify: Any, timeout_s: float, **options: Any) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, ssl=verify),  # the limiter bounds it
        timeout=aiohttp.ClientTimeout(total=timeout_s),
        cookie_jar=aiohttp.DummyCookieJar(),
        **options,
    )


def map_failure(
    broken: Exception, faults: ErrorMapper, timeout_s: float, what: str = "the reply broke off or was no HTTP"
) -> ConnectorError:
    """The error for a failed exchange, to be raised outside the handler: aiohttp's exceptions contain the key."""
    if isinstance(broken, TimeoutError):
        return faults.timed_out(timeout_s)
    if isinstance(broken, aiohttp.ClientPayloadError | aiohttp.ClientResponseError):
        return faults.server(what)
    return faults.disconnected(broken)


def find_proxy(scheme: str, host: str) -> str | None:
    """The environment's proxy, or None."""
    # aiohttp's own look-up reads ~/.netrc at each request, and fails if it names the host.
    return None if proxy_bypass(host) else getproxies().get(scheme)


FILE_S = 1800.0
"""Seconds allowed for one file: the largest at below 1 Mbit/s."""
PIECE = 1 << 16
LIBRARY: Any = httpx2


class FileTransport(Transport):
    """Transport of a batch API; requests other than files must end within `timeout_s`."""

    def __init__(self, faults: ErrorMapper, timeout_s: float) -> None:
        super().__init__(LIBRARY, faults, FILE_S)
        self._calls = Transport(LIBRARY, faults, timeout_s)
        self._words = faults
        self._pause_s = timeout_s

    async def handle_async_request(self, request: HttpRequest) -> Any:
        if request.headers.get("content-type", "").startswith("multipart/"):
            return await super().handle_async_request(_Upload(request))
        if request.method == "GET" and str(request.url).endswith("/content"):
            return await self._download(request)
        return await self._calls.handle_async_request(request)

    async def aclose(self) -> None:
        await self._calls.aclose()
        await super().aclose()

    async def _download(self, request: HttpRequest) -> Any:
        """A response whose body is still to be read."""
        fault: ConnectorError
        try:
            response = await self._session(request).request(
                request.method,
                yarl.URL(str(request.url), encoded=True),
                headers=request.headers,
                allow_redirects=False,
                auto_decompress=False,
                timeout=aiohttp.ClientTimeout(sock_connect=self._pause_s, sock_read=self._pause_s),
            )
            if response.status >= 300:
                async with response:
                    fault = self._words.status(response.status, response.headers, await response.read())
            else:
                body = _Pieces(response, self)
                return httpx2.Response(response.status, headers=response.raw_headers, stream=body)
        except (aiohttp.ClientError, TimeoutError, OSError) as broken:
            fault = self.fault(broken)
        raise fault  # outside the handlers: aiohttp's exceptions contain the request's headers, and so the key

    def fault(self, broken: Exception) -> ConnectorError:
        """The error that ended a download."""
        return map_failure(broken, self._words, self._pause_s, "the file broke off")


class _Upload:
    """A request whose body is a stream instead of bytes; aiohttp sends both."""

    def __init__(self, request: Any) -> None:
        self.method: str = request.method
        self.headers: Any = request.headers
        self.url: Any = request.url
        self.content: Any = request.stream


class _Pieces(httpx2.AsyncByteStream):
    def __init__(self, response: aiohttp.ClientResponse, wire: FileTransport) -> None:
        self._response, self._wire = response, wire

    async def __aiter__(self) -> AsyncIterator[bytes]:
        fault: ConnectorError | None = None
        try:
            async for piece in self._response.content.iter_chunked(PIECE):
                yield piece
        except (aiohttp.ClientError, TimeoutError, OSError) as broken:
            fault = self._wire.fault(broken)
        if fault is not None:
            raise fault

    async def aclose(self) -> None:
        self._response.close()
