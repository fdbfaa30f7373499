"""OpenAI's Batch API through its SDK: each call sends one request once and raises the errors of api.py."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

import httpx2
import openai
from openai.types import Batch as Told

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.api import ConnectorError
from biasgrid.tasks.connectors.batch.lines import ENDPOINT, Batch, BatchLines
from biasgrid.tasks.connectors.client.error_mapping import ErrorMapper
from biasgrid.tasks.connectors.client.transport import FileTransport
from biasgrid.tasks.connectors.providers.chat import NO_KEY, base_address, token_limit_name
from biasgrid.tasks.connectors.providers.openai import OWN
from biasgrid.warehouse.storage.errors import storing

T = TypeVar("T")
RUN, JOB = "biasgrid_run", "biasgrid_job"
"""Metadata keys that identify a batch."""
SKEW = timedelta(hours=6)
"""Largest assumed difference between the provider's clock and ours."""
PAGE = 100


def connect(target: Target, key: str | None) -> BatchApi:
    """Batch API of a target; opens no connection. Raises UserError if the target has no supported batch API."""
    if target.connector != "openai" or target.batch is None:
        what = f"`{target.model}` has no batch API that can be used: its connector is `{target.connector}`"
        raise UserError(Problem(what, "models.yaml", "take `batch` from its provider, or leave `--batch` out"))
    url = base_address(target, OWN)
    faults = ErrorMapper(target, key)
    client = openai.AsyncOpenAI(
        api_key=key or NO_KEY, base_url=url, max_retries=0, http_client=file_client(target, faults)
    )
    return BatchApi(client, faults, BatchLines(target, faults, token_limit_name(url)))


def file_client(target: Target, faults: ErrorMapper) -> httpx2.AsyncClient:
    """An HTTP client for files of any size."""
    transport: Any = FileTransport(faults, target.limits.timeout_s)
    return openai.DefaultAioHttpClient(transport=transport)


class JobApi:
    """Calls shared by batches and fine-tuning jobs. Raises `ConnectorError` and errors of local files."""

    purpose: Literal["batch", "fine-tune"]

    def __init__(self, client: openai.AsyncOpenAI, faults: ErrorMapper) -> None:
        self._client, self._faults = client, faults

    async def close(self) -> None:
        await self._client.close()

    async def upload(self, path: Path, name: str) -> str:
        """Uploads a file and returns its id at the provider."""
        with path.open("rb") as content:
            files = self._client.files
            file = await self._called(lambda: files.create(file=(name, content), purpose=self.purpose))
        return self._id(file)

    async def delete(self, file_id: str) -> None:
        await self._called(lambda: self._client.files.delete(file_id))

    async def _called(self, call: Callable[[], Awaitable[T]]) -> T:
        fault: ConnectorError
        try:
            return await call()
        except (openai.OpenAIError, httpx2.HTTPError, ValueError) as unforeseen:
            fault = self._faults.unforeseen(unforeseen)
        raise fault

    async def _find(self, listing: Any, is_ours: Callable[[Any], bool], since: datetime) -> Any | None:
        """The newest of the provider's jobs for which `is_ours` returns True, or None."""
        oldest, after = (since - SKEW).timestamp(), dict[str, str]()
        while True:
            page = await self._called(partial(self._page, listing, limit=PAGE, **after))
            for job in page:
                if is_ours(job):
                    return job
            if len(page) < PAGE or (page[-1].created_at or 0) < oldest:
                return None
            after = {"after": self._id(page[-1])}

    async def _page(self, listing: Any, *arguments: str, **options: Any) -> list[Any]:
        return list((await listing(*arguments, **options)).data or [])

    def _id(self, document: Any) -> str:
        found = getattr(document, "id", None)
        if not isinstance(found, str) or not found:
            raise self._faults.server("the provider gave no id")
        return found


class BatchApi(JobApi):
    """The batches of one model."""

    purpose = "batch"

    def __init__(self, client: openai.AsyncOpenAI, faults: ErrorMapper, lines: BatchLines) -> None:
        super().__init__(client, faults)
        self.lines = lines

    async def create(self, file_id: str, run_id: str, job_id: str) -> Batch:
        """Creates a batch from an input file, with the job in its metadata."""
        batches = self._client.batches
        metadata = {RUN: run_id, JOB: job_id}
        told = await self._called(
            lambda: batches.create(
                input_file_id=file_id, endpoint=ENDPOINT, completion_window="24h", metadata=metadata
            )
        )
        return self._read(told)

    async def retrieve(self, batch_id: str) -> Batch:
        return self._read(await self._called(lambda: self._client.batches.retrieve(batch_id)))

    async def find(self, job_id: str, since: datetime) -> Batch | None:
        """The batch created for a job, or None."""
        found = await self._find(
            self._client.batches.list, lambda batch: (batch.metadata or {}).get(JOB) == job_id, since
        )
        return self._read(found) if found is not None else None

    async def download(self, file_id: str, path: Path) -> None:
        """Downloads a provider's file to `path`. Raises StorageTrouble if it cannot be written."""
        await self._called(lambda: self._fetched(file_id, path))

    async def _fetched(self, file_id: str, path: Path) -> None:
        async with self._client.files.with_streaming_response.content(file_id) as response:
            # provider errors are raised before `storing`, which would report them as disk errors
            with storing(path), path.open("wb") as file:
                async for piece in response.iter_bytes():
                    file.write(piece)

    def _read(self, told: Told) -> Batch:
        counts = told.request_counts
        found = (told.errors.data if told.errors else None) or []
        return Batch(
            self._id(told),
            str(told.status),
            told.output_file_id,
            told.error_file_id,
            counts.completed if counts else None,
            counts.failed if counts else None,
            tuple((error.code or "", _format_error(error.message, error.line)) for error in found),
        )


def _format_error(message: str | None, line: int | None) -> str:
    return (f"line {line}: " if line else "") + (message or "no reason given")
