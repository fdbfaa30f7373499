"""Files over the wire, sent and received piece by piece, whatever their size."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import httpx2
import yarl

from biasgrid.tasks.connectors.api import ConnectorError
from biasgrid.tasks.connectors.client.error_mapping import Faults
from biasgrid.tasks.connectors.client.transport import HttpRequest, Wire

FILE_S = 1800.0
"""How long one file may take: the largest at less than a megabit a second."""
PIECE = 1 << 16
LIBRARY: Any = httpx2


class FileWire(Wire):
    """The transport of a batch API: what is no file goes within `timeout_s`, as any other request does."""

    def __init__(self, faults: Faults, timeout_s: float) -> None:
        super().__init__(LIBRARY, faults, FILE_S)
        self._calls = Wire(LIBRARY, faults, timeout_s)
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
        """A response whose body is yet to come."""
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
        raise fault  # outside the handlers: aiohttp's exceptions hold the request's headers, the key among them

    def fault(self, broken: Exception) -> ConnectorError:
        """What ended a download."""
        if isinstance(broken, TimeoutError):
            return self._words.timed_out(self._pause_s)
        if isinstance(broken, aiohttp.ClientPayloadError):
            return self._words.server("the file broke off")
        return self._words.disconnected(broken)


class _Upload:
    """A request whose body is a stream, in the place of bytes: aiohttp sends either."""

    def __init__(self, request: Any) -> None:
        self.method: str = request.method
        self.headers: Any = request.headers
        self.url: Any = request.url
        self.content: Any = request.stream


class _Pieces(httpx2.AsyncByteStream):
    def __init__(self, response: aiohttp.ClientResponse, wire: FileWire) -> None:
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
