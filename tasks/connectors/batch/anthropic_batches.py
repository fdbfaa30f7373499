"""Anthropic's Message Batches API, through its SDK: the extra `anthropic`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from datetime import datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import anthropic
import httpx2

from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.api import Request
from biasgrid.tasks.connectors.batch.file_transport import FileTransport
from biasgrid.tasks.connectors.batch.job_api import Document, JobApi, write_pieces
from biasgrid.tasks.connectors.batch.lines import (
    CUSTOM_ID,
    FRAME,
    Batch,
    BatchLines,
    Outcome,
    SoughtBatch,
    dump_line,
)
from biasgrid.tasks.connectors.batch.recorded_job import RecordedJob
from biasgrid.tasks.connectors.client.error_mapping import ErrorMapper
from biasgrid.tasks.connectors.providers.anthropic import message_body, open_client, read_message
from biasgrid.tasks.connectors.side_fields import read_count, read_label, read_object
from biasgrid.warehouse.hashing import content_hash

PATH: Final = "/v1/messages/batches"
JSON: Final = {"Content-Type": "application/json"}
COUNTED: Final = ("processing", "succeeded", "errored", "canceled", "expired")
STATUS: Final = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""HTTP status of each type of error, 500 for others."""
BEGINNING: Final = b'{"custom_id":"'


def connect(target: Target, key: str | None) -> MessageBatches:
    return MessageBatches(target, key)


class MessageLines(BatchLines):
    """Lines of one model's batches. A custom_id names the job and the request: batches have no metadata."""

    def of(self, request: Request) -> bytes:
        params = message_body(request, self._name, self._accepted)
        return dump_line({"custom_id": content_hash(request.request_key), "params": params})

    def keys_by_name(self, job_id: str, keys: Iterable[str]) -> Mapping[str, str]:
        return {f"{job_id}-{content_hash(key)}": key for key in keys}  # at most 64 characters

    def is_of(self, job_id: str, custom_id: str) -> bool:
        return custom_id.startswith(f"{job_id}-")

    def _read_outcome(self, line: Mapping[str, Any]) -> Outcome:
        result = read_object(line.get("result"))
        match result.get("type"):
            case "succeeded":
                return self._read_reply(result.get("message"), read_message)
            case "errored":
                error = read_object(result.get("error"))
                stated = read_object(error.get("error")) or error
                return self._read_error(STATUS.get(str(stated.get("type")), 500), error)
            case "canceled":
                return self.error_without_line("cancelled")
            case "expired":
                return self.error_without_line("expired")
        return self.error_without_line("completed")


def batch_body(path: Path, job_id: str) -> bytes:
    """The body that creates the batch of a job from the lines of an input file."""
    with path.open("rb") as file:
        named = (line.replace(BEGINNING, BEGINNING + f"{job_id}-".encode(), 1) for line in file)
        return b'{"requests":[' + b",".join(named) + b"]}"


class MessageBatches(JobApi):
    """The batches of one model. Their input is no file, and their only file is that of the results."""

    unforeseen = (anthropic.AnthropicError, httpx2.HTTPError, ValueError)
    cursor = "after_id"

    def __init__(self, target: Target, key: str | None) -> None:
        super().__init__(ErrorMapper(target, key))
        self._client = open_client(target, key, FileTransport(self._faults, target.limits))
        self.lines = MessageLines(target, self._faults)

    async def upload(self, path: Path, name: str) -> None:
        """Uploads nothing."""

    async def create(self, job: RecordedJob, path: Path) -> Batch:
        """Creates a batch with the requests of `path`, whose custom_ids name the job."""
        # not by the SDK's `create`, which builds its types anew for each of a hundred thousand requests
        body = batch_body(path, job.job_id)
        created = await self._call(
            lambda: self._client.post(PATH, cast_to=httpx2.Response, content=body, options={"headers": JSON})
        )
        return self._read(created)

    async def retrieve(self, batch_id: str) -> Batch:
        return self._read(await self._call(lambda: self._client.messages.batches.retrieve(batch_id)))

    async def find(self, sought: SoughtBatch) -> Batch | None:
        """The batch whose results name the job, else one of as many requests that goes on and may be the job's."""
        may_be: Batch | None = None
        async for found in self._list(self._list_page, sought.began_at):
            batch = self._read(found)
            if batch.id in sought.known or sum(_counts(found).values()) != sought.requests:
                continue
            if not batch.ended:
                may_be = may_be or batch
            elif batch.output_file_id and await self._is_of(sought.job_id, batch.output_file_id):
                return batch
        return may_be

    async def download(self, file_id: str, path: Path, requests: int) -> None:
        most, too_long = self.lines.most_bytes(requests), self.lines.output_too_long(requests)
        await self._call(lambda: write_pieces(self._results(file_id), path, most, too_long))

    async def delete(self, file_id: str) -> None:
        await self._call(lambda: self._client.messages.batches.delete(file_id))

    async def _list_page(self, **asked: object) -> object:
        return await self._client.get(PATH, cast_to=httpx2.Response, options={"params": asked})

    async def _is_of(self, job_id: str, batch_id: str) -> bool:
        """Whether the first result of a batch names the job."""
        beginning = bytearray()
        await self._call(lambda: self._read_beginning(batch_id, beginning))
        name = CUSTOM_ID.search(beginning)
        return name is not None and self.lines.is_of(job_id, name[1].decode())

    async def _read_beginning(self, batch_id: str, beginning: bytearray) -> None:
        async with aclosing(self._results(batch_id)) as pieces:
            async for piece in pieces:
                beginning += piece
                if len(beginning) > FRAME:
                    return

    async def _results(self, batch_id: str) -> AsyncGenerator[bytes]:
        """The file of results, from the provider's own address: the key goes nowhere else."""
        path = f"{PATH}/{quote(batch_id, safe='')}/results"
        response = await self._client.get(path, cast_to=httpx2.Response, stream=True)
        async with aclosing(response):
            async for piece in response.aiter_bytes():
                yield piece

    def _created_at(self, job: Document) -> float | None:
        try:
            return datetime.fromisoformat(str(job.get("created_at"))).timestamp()
        except ValueError:
            return None

    def _read(self, found: Document) -> Batch:
        counts, batch_id = _counts(found), self._id(found)
        failed = counts["errored"] + counts["canceled"] + counts["expired"]
        results = batch_id if found.get("results_url") else None
        return Batch(batch_id, _state(found), results, completed=counts["succeeded"], failed=failed)


def _counts(batch: Document) -> dict[str, int]:
    """Numbers of a batch's requests."""
    stated = read_object(batch.get("request_counts"))
    return {name: read_count(stated.get(name)) or 0 for name in COUNTED}


def _state(batch: Document) -> str:
    """A batch's state in the words of `Batch`."""
    state, counts = read_label(batch.get("processing_status")) or "unknown", _counts(batch)
    if state != "ended":
        return {"canceling": "cancelling"}.get(state, state)
    return "cancelled" if counts["canceled"] else "expired" if counts["expired"] else "completed"
