"""OpenAI's Batch API, and its jobs in general, through its SDK."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

import httpx2
import openai

from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.api import Request, RequestRejected
from biasgrid.tasks.connectors.batch.file_transport import FileTransport
from biasgrid.tasks.connectors.batch.job_api import Document, JobApi, write_pieces
from biasgrid.tasks.connectors.batch.lines import Batch, BatchLines, Outcome, SoughtBatch, dump_line
from biasgrid.tasks.connectors.batch.recorded_job import RecordedJob
from biasgrid.tasks.connectors.client.error_mapping import ErrorMapper
from biasgrid.tasks.connectors.providers.chat import (
    NEW,
    OLD,
    OWN,
    base_address,
    chat_body,
    read_completion,
    token_limit_name,
)
from biasgrid.tasks.connectors.providers.openai import open_client
from biasgrid.tasks.connectors.side_fields import read_count, read_label, read_object

ENDPOINT: Final = "/v1/chat/completions"
RUN, JOB = "biasgrid_run", "biasgrid_job"
"""Metadata keys that identify a batch."""
NO_REASON = "no reason given"


def connect(target: Target, key: str | None) -> OpenAiBatches:
    return OpenAiBatches(target, key)


class OpenAiJobs(JobApi):
    """Jobs whose requests or examples are files."""

    purpose: Literal["batch", "fine-tune"]
    unforeseen = (openai.OpenAIError, httpx2.HTTPError, ValueError)

    def __init__(self, target: Target, key: str | None) -> None:
        super().__init__(ErrorMapper(target, key))
        self._client = open_client(target, key, FileTransport(self._faults, target.limits))

    async def upload(self, path: Path, name: str) -> str:
        """Uploads a file and returns its id at the provider."""
        with path.open("rb") as content:
            files = self._client.files
            file = await self._call(lambda: files.create(file=(name, content), purpose=self.purpose))
        return self._id(file)

    async def delete(self, file_id: str) -> None:
        await self._call(lambda: self._client.files.delete(file_id))


class ChatLines(BatchLines):
    """Lines of one model's batches; `spelling` is the name of the token limit."""

    def __init__(self, target: Target, faults: ErrorMapper, spelling: str) -> None:
        super().__init__(target, faults)
        self._spelling, self._learnt = spelling, False

    def of(self, request: Request) -> bytes:
        body = chat_body(request, self._name, self._accepted, self._spelling)
        return dump_line({"custom_id": request.request_key, "method": "POST", "url": ENDPOINT, "body": body})

    def learn_from(self, outcome: Outcome) -> bool:
        """Whether a request was rejected only for the token limit's name; later lines use the right one."""
        if not isinstance(outcome, RequestRejected) or NEW not in str(outcome):
            return False
        if self._spelling == OLD:
            self._spelling, self._learnt = NEW, True
        return self._learnt

    def _read_outcome(self, line: Mapping[str, Any]) -> Outcome:
        response, error = line.get("response"), line.get("error")
        if not isinstance(response, dict) or not isinstance(response.get("status_code"), int):
            return self._describe_missing(error if isinstance(error, dict) else {})
        status, body = response["status_code"], response.get("body")
        return self._read_reply(body, read_completion) if status < 300 else self._read_error(status, body)


class OpenAiBatches(OpenAiJobs):
    """The batches of one model."""

    purpose = "batch"

    def __init__(self, target: Target, key: str | None) -> None:
        super().__init__(target, key)
        self.lines = ChatLines(target, self._faults, token_limit_name(base_address(target, OWN)))

    async def create(self, job: RecordedJob, path: Path) -> Batch:
        """Creates a batch from an uploaded file, with the job in its metadata."""
        batches, file_id = self._client.batches, job.input_file_id or ""
        metadata = {RUN: job.run_id, JOB: job.job_id}
        created = await self._call(
            lambda: batches.create(
                input_file_id=file_id, endpoint=ENDPOINT, completion_window="24h", metadata=metadata
            )
        )
        return self._read(created)

    async def retrieve(self, batch_id: str) -> Batch:
        return self._read(await self._call(lambda: self._client.batches.retrieve(batch_id)))

    async def find(self, sought: SoughtBatch) -> Batch | None:
        """The batch whose metadata name the job, or None."""

        def is_ours(batch: Document) -> bool:
            return read_object(batch.get("metadata")).get(JOB) == sought.job_id

        found = await self._find(self._client.batches.list, is_ours, sought.began_at)
        return self._read(found) if found is not None else None

    async def download(self, file_id: str, path: Path, requests: int) -> None:
        await self._call(lambda: self._fetch(file_id, path, requests))

    async def _fetch(self, file_id: str, path: Path, requests: int) -> None:
        most, too_long = self.lines.most_bytes(requests), self.lines.output_too_long(requests)
        async with self._client.files.with_streaming_response.content(file_id) as response:
            await write_pieces(response.iter_bytes(), path, most, too_long)

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
