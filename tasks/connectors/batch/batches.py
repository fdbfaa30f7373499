"""OpenAI's Batch API through its SDK: each call sends one request once and raises the errors of api.py."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Literal

import aiohttp
import httpx2
import openai
import yarl

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.schema.models import Limits, Target
from biasgrid.tasks.connectors.api import ConnectorError
from biasgrid.tasks.connectors.batch.lines import ENDPOINT, Batch, BatchLines
from biasgrid.tasks.connectors.client.error_mapping import ErrorMapper
from biasgrid.tasks.connectors.client.transport import HttpRequest, Received, Transport
from biasgrid.tasks.connectors.providers.chat import OWN, base_address, token_limit_name
from biasgrid.tasks.connectors.providers.openai import open_client
from biasgrid.tasks.connectors.side_fields import read_count, read_label, read_object
from biasgrid.warehouse.storage.errors import storing

Document = Mapping[str, Any]
RUN, JOB = "biasgrid_run", "biasgrid_job"
"""Metadata keys that identify a batch."""
SKEW = timedelta(hours=6)
"""Largest assumed difference between the provider's clock and ours."""
PAGE = 100
MOST_PAGES = 1000
NO_REASON = "no reason given"


FILE_S = 1800.0
"""Seconds allowed for one file: the largest at below 1 Mbit/s."""
PIECE = 1 << 16
HTTPX: Any = httpx2


def connect(target: Target, key: str | None) -> BatchApi:
    """Batch API of a target; opens no connection. Raises UserError if the target has no supported batch API."""
    if target.connector != "openai" or target.batch is None:
        what = f"`{target.model}` has no batch API that can be used: its connector is `{target.connector}`"
        raise UserError(Problem(what, "models.yaml", "take `batch` from its provider, or leave `--batch` out"))
    return BatchApi(target, key)


class FileTransport(Transport):
    """Transport of a batch API; requests other than files must end within `timeout_s`."""

    def __init__(self, faults: ErrorMapper, limits: Limits) -> None:
        super().__init__(HTTPX, faults, limits.model_copy(update={"timeout_s": FILE_S}))
        self._calls = Transport(HTTPX, faults, limits)
        self._pause_s = limits.timeout_s

    async def handle_async_request(self, request: HttpRequest) -> Any:
        if request.headers.get("content-type", "").startswith("multipart/"):
            await super().handle_async_request(_Upload(request))
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


class JobApi:
    """Calls shared by batches and fine-tuning jobs. Raises `ConnectorError` and errors of local files."""

    purpose: Literal["batch", "fine-tune"]

    def __init__(self, target: Target, key: str | None) -> None:
        self._faults = ErrorMapper(target, key)
        self._client = open_client(target, key, FileTransport(self._faults, target.limits))

    async def close(self) -> None:
        await self._client.close()

    async def upload(self, path: Path, name: str) -> str:
        """Uploads a file and returns its id at the provider."""
        with path.open("rb") as content:
            files = self._client.files
            file = await self._call(lambda: files.create(file=(name, content), purpose=self.purpose))
        return self._id(file)

    async def delete(self, file_id: str) -> None:
        await self._call(lambda: self._client.files.delete(file_id))

    async def _call(self, call: Callable[[], Awaitable[object]]) -> Document:
        """The document with which the provider answers, empty for a file."""
        fault: ConnectorError
        try:
            await call()
        except Received as received:
            return received.body.document
        except (openai.OpenAIError, httpx2.HTTPError, ValueError) as unforeseen:
            fault = self._faults.unforeseen(unforeseen)
        else:
            return {}
        raise fault

    async def _find(
        self, listing: Callable[..., Awaitable[object]], is_ours: Callable[[Document], bool], since: datetime
    ) -> Document | None:
        """The newest of the provider's jobs for which `is_ours` returns True, or None."""
        oldest, after = (since - SKEW).timestamp(), dict[str, str]()
        for _ in range(MOST_PAGES):
            page = await self._page(partial(listing, limit=PAGE, **after))
            for job in page:
                if is_ours(job):
                    return job
            created = read_count(page[-1].get("created_at")) if page else None
            if len(page) < PAGE or (created is not None and created < oldest):
                return None
            after = {"after": self._id(page[-1])}
        raise self._faults.server(f"lists more than {MOST_PAGES * PAGE:,} jobs")

    async def _page(self, listing: Callable[[], Awaitable[object]]) -> list[Document]:
        entries = (await self._call(listing)).get("data")
        return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []

    def _id(self, document: Document) -> str:
        found = document.get("id")
        if not isinstance(found, str) or not found or read_label(found) != found:
            raise self._faults.server("the provider gave no id")
        return found


class BatchApi(JobApi):
    """The batches of one model."""

    purpose = "batch"

    def __init__(self, target: Target, key: str | None) -> None:
        super().__init__(target, key)
        self.lines = BatchLines(target, self._faults, token_limit_name(base_address(target, OWN)))

    async def create(self, file_id: str, run_id: str, job_id: str) -> Batch:
        """Creates a batch from an input file, with the job in its metadata."""
        batches = self._client.batches
        metadata = {RUN: run_id, JOB: job_id}
        created = await self._call(
            lambda: batches.create(
                input_file_id=file_id, endpoint=ENDPOINT, completion_window="24h", metadata=metadata
            )
        )
        return self._read(created)

    async def retrieve(self, batch_id: str) -> Batch:
        return self._read(await self._call(lambda: self._client.batches.retrieve(batch_id)))

    async def find(self, job_id: str, since: datetime) -> Batch | None:
        """The batch created for a job, or None."""
        found = await self._find(
            self._client.batches.list, lambda batch: read_object(batch.get("metadata")).get(JOB) == job_id, since
        )
        return self._read(found) if found is not None else None

    async def download(self, file_id: str, path: Path, requests: int) -> None:
        """Downloads a provider's file to `path`. Raises OutputTooLong if it has more than the replies to so many
        requests, StorageTrouble if it cannot be written."""
        await self._call(lambda: self._fetch(file_id, path, requests))

    async def _fetch(self, file_id: str, path: Path, requests: int) -> None:
        left = self.lines.most_bytes(requests)
        async with self._client.files.with_streaming_response.content(file_id) as response:
            # provider errors are raised before `storing`, which would report them as disk errors
            with storing(path), path.open("wb") as file:
                async for piece in response.iter_bytes():
                    left -= len(piece)
                    if left < 0:
                        raise self.lines.output_too_long(requests)
                    file.write(piece)

    def _read(self, found: Document) -> Batch:
        counts, errors = read_object(found.get("request_counts")), read_object(found.get("errors")).get("data")
        return Batch(
            self._id(found),
            read_label(found.get("status")) or "unknown",
            read_label(found.get("output_file_id")),
            read_label(found.get("error_file_id")),
            read_count(counts.get("completed")),
            read_count(counts.get("failed")),
            tuple(map(_read_error, errors if isinstance(errors, list) else ())),
        )


def _read_error(stated: object) -> tuple[str, str]:
    """The code of a batch's error, and its message with its line."""
    error = read_object(stated)
    code, line, message = (read_label(error.get("code")), read_count(error.get("line")), error.get("message"))
    return code or "", (f"line {line}: " if line else "") + (read_label(message) or NO_REASON)
