"""HTTP transport of job APIs: files pass piece by piece, within a time of their own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import httpx2
import yarl

from biasgrid.catalogs.schema.models import Limits
from biasgrid.tasks.connectors.api import ConnectorError
from biasgrid.tasks.connectors.client.error_mapping import ErrorMapper
from biasgrid.tasks.connectors.client.transport import HttpRequest, Transport

FILE_S = 1800.0
"""Seconds allowed for one file: the largest at below 1 Mbit/s."""
PIECE = 1 << 16
LONG = 1 << 20
"""Bytes of a body that is sent as a file."""
HTTPX: Any = httpx2


class FileTransport(Transport):
    """Transport of a batch API; requests other than files must end within `timeout_s`."""

    def __init__(self, faults: ErrorMapper, limits: Limits) -> None:
        super().__init__(HTTPX, faults, limits.model_copy(update={"timeout_s": FILE_S}))
        self._calls = Transport(HTTPX, faults, limits)
        self._pause_s = limits.timeout_s

    async def handle_async_request(self, request: HttpRequest) -> Any:
        if _holds_file(request):
            await super().handle_async_request(_Upload(request))
        if request.method == "GET" and str(request.url).endswith(("/content", "/results")):
            return await self._download(request)
        return await self._calls.handle_async_request(request)

    async def aclose(self) -> None:
        await self._calls.aclose()
        await super().aclose()

    async def _download(self, request: HttpRequest) -> Any:
        """A response whose body is still to be read."""
        fault: ConnectorError
        try:
            url = yarl.URL(str(request.url), encoded=True)
            response = await self._open(url).request(
                request.method,
                url,
                headers=request.headers,
                allow_redirects=False,
                proxy=self._proxy(url),
                timeout=aiohttp.ClientTimeout(FILE_S, sock_connect=self._pause_s, sock_read=self._pause_s),
            )
            if response.status >= 300:
                async with response:
                    fault = self._faults.status(response.status, response.headers, await self._read(response))
            else:
                body = _Pieces(response, self)
                return httpx2.Response(response.status, headers=response.raw_headers, stream=body)
        except (aiohttp.ClientError, TimeoutError, OSError) as broken:
            fault = self.map_broken_file(broken)
        raise fault  # outside the handlers: aiohttp's exceptions contain the request's headers, and so the key

    def map_broken_file(self, broken: Exception) -> ConnectorError:
        """The error that ended a download."""
        return self._map_failure(broken, "the file broke off", self._pause_s)


class _Upload:
    """A request whose body is a stream instead of bytes; aiohttp sends both."""

    def __init__(self, request: Any) -> None:
        self.method: str = request.method
        self.headers: Any = request.headers
        self.url: Any = request.url
        self.content: Any = request.stream


class _Pieces(httpx2.AsyncByteStream):
    def __init__(self, response: aiohttp.ClientResponse, transport: FileTransport) -> None:
        self._response, self._transport = response, transport

    async def __aiter__(self) -> AsyncIterator[bytes]:
        fault: ConnectorError | None = None
        try:
            async for piece in self._response.content.iter_chunked(PIECE):
                yield piece
        except (aiohttp.ClientError, TimeoutError, OSError) as broken:
            fault = self._transport.map_broken_file(broken)
        if fault is not None:
            raise fault

    async def aclose(self) -> None:
        self._response.close()


def _holds_file(request: HttpRequest) -> bool:
    headers = request.headers
    return headers.get("content-type", "").startswith("multipart/") or int(headers.get("content-length", 0)) > LONG
