"""One request over HTTP and what comes back, for connectors without an SDK of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

import aiohttp
import httpx2
import yarl

from biasgrid.tasks.connectors.api import ConnectorError, Hear
from biasgrid.tasks.connectors.client.error_mapping import Faults
from biasgrid.tasks.connectors.client.transport import proxy_of
from biasgrid.tasks.connectors.conversation.state import Conversation
from biasgrid.tasks.connectors.providers.endpoint_request import Outgoing

LONGEST_BODY = 16_000_000
"""Bytes; no chatbot says so much, and what never ends must not fill the memory."""
PIECE = 1 << 16
REDIRECTS = frozenset({301, 302, 303, 307, 308})
MOST_REDIRECTS = 5


@dataclass(frozen=True, slots=True)
class Answered:
    """A reply of 200 to 299, its body whole."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "")


class Exchanges:
    """One per model. Redirects are followed to the same host only: another would get credentials, and replies of
    whoever answers there would count as the chatbot's."""

    def __init__(self, faults: Faults, timeout_s: float) -> None:
        self._faults = faults
        self._timeout_s = timeout_s
        self._hear: Hear | None = None
        self._open: aiohttp.ClientSession | None = None
        self._proxies: dict[tuple[str, str], str | None] = {}

    def overhear(self, hear: Hear) -> None:
        self._hear = hear

    async def send(self, outgoing: Outgoing, conversation: Conversation) -> Answered:
        """Raises a ConnectorError for all but success."""
        url = yarl.URL(outgoing.url, encoded=True)
        method, content = outgoing.method, outgoing.content
        for _ in range(1 + MOST_REDIRECTS):
            answered = await self._exchange(method, url, outgoing.headers, content, conversation)
            if answered.status not in REDIRECTS or "location" not in answered.headers:
                break
            url = self._elsewhere(url, answered.headers["location"])
            if answered.status == HTTPStatus.SEE_OTHER:
                method, content = "GET", None
        else:
            raise self._faults.unknown("redirects without end; check the `url` of the endpoint's file")
        if answered.status >= HTTPStatus.MULTIPLE_CHOICES:
            raise self._faults.status(answered.status, answered.headers, answered.body)
        return answered

    async def close(self) -> None:
        if self._open is not None:
            await self._open.close()

    async def _exchange(
        self,
        method: str,
        url: yarl.URL,
        headers: Mapping[str, str],
        content: bytes | None,
        conversation: Conversation,
    ) -> Answered:
        fault: ConnectorError
        try:
            async with self._session(url).request(
                method,
                url,
                headers=_with_cookie(headers, conversation.cookie(url), has_body=content is not None),
                data=content,
                allow_redirects=False,
                proxy=self._proxy(url),
            ) as response:
                if self._hear is not None:
                    self._hear(response.headers)
                conversation.hear(url, response.cookies)
                return Answered(response.status, response.headers, await self._whole(response))
        except TimeoutError:
            fault = self._faults.timed_out(self._timeout_s)
        except (aiohttp.ClientPayloadError, aiohttp.ClientResponseError):
            fault = self._faults.server("the reply broke off or was no HTTP")
        except (aiohttp.ClientError, OSError) as broken:
            fault = self._faults.disconnected(broken)
        # outside the handlers: aiohttp's exceptions hold the request's headers, the keys among them
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
            self._proxies[at] = proxy_of(*at)
        return self._proxies[at]

    def _session(self, url: yarl.URL) -> aiohttp.ClientSession:
        if self._open is None:
            verify = httpx2.create_ssl_context() if url.scheme == "https" else True
            self._open = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ssl=verify),  # the limiter bounds it
                timeout=aiohttp.ClientTimeout(total=self._timeout_s),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"User-Agent": "biasgrid"},
            )
        return self._open


def _with_cookie(headers: Mapping[str, str], cookie: str, *, has_body: bool) -> dict[str, str]:
    """The conversation's cookies beside one that the file itself sends."""
    own = {name: value for name, value in headers.items() if has_body or name.lower() != "content-type"}
    sent = next((name for name in own if name.lower() == "cookie"), "Cookie")
    cookies = "; ".join(part for part in (own.get(sent, ""), cookie) if part)
    return own | ({sent: cookies} if cookies else {})
