"""The life cycle of a batch: validated, answered line by line over its time, finalized."""

# It depends only on its input and earlier batches, so that a restarted server gives the same result.

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any, Literal

from biasgrid.catalogs.schema.respondents import Respondent
from biasgrid.tasks.connectors.simulated.fault_injection import uniform
from biasgrid.tasks.connectors.simulated.panel import Panel, Question
from biasgrid.tasks.connectors.simulated.server.batch_lines import BatchReader, Flaw, Line
from biasgrid.tasks.connectors.simulated.server.delivery import JournalEntry, digest_messages
from biasgrid.tasks.connectors.simulated.server.openai_protocol import (
    completion,
    count_usage,
    error_body,
    read_question,
)
from biasgrid.tasks.connectors.simulated.server.service import STATUS, CountedReply, Declined, Service
from biasgrid.tasks.connectors.simulated.server.store import Document, JobStore

Mishap = Literal["batch_failures", "batch_expired"]
EXPIRED = {
    "code": "batch_expired",
    "message": "This request could not be executed before the completion window expired.",
}
FAILED = Declined("fault", "The server had an error while processing the request.")


class BatchReplies:
    """Answers the lines of one batch; `missed` counts failures of their questions in earlier batches."""

    def __init__(self, panel: Panel, batch_id: str, respondent: Respondent, missed: Counter[str]) -> None:
        self._panel, self._batch_id, self._respondent, self._missed = panel, batch_id, respondent, missed
        self.output: list[bytes] = []
        self.errors: list[bytes] = []
        self.entries: list[tuple[JournalEntry, str]] = []
        self.missed: list[str] = []
        self.expired = False
        self._input_tokens = self._output_tokens = 0

    @property
    def usage(self) -> Document:
        return {
            "input_tokens": self._input_tokens,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": self._output_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": self._input_tokens + self._output_tokens,
        }

    def add(self, line: Line) -> None:
        entry = JournalEntry(model=line.body["model"], batch=self._batch_id)
        try:
            outcome = self._reply(line, entry)
        except Declined as declined:
            outcome = declined.reason
            self.errors.append(_response_line(line, STATUS[declined.reason], error_body(declined)))
        self.entries.append((entry, outcome))

    def _reply(self, line: Line, entry: JournalEntry) -> str:
        """The outcome. Raises Declined if the request is invalid."""
        question, messages = read_question(line.body, self._respondent)
        entry.messages, entry.seed = digest_messages(messages), question.seed
        mishap = self._draw_mishap(question)
        if mishap is not None:
            self.missed.append(_question_key(question))
            self.expired |= mishap == "batch_expired"
            failed = _response_line(line, STATUS["fault"], error_body(FAILED))
            self.errors.append(failed if mishap == "batch_failures" else _output_line(line, None, EXPIRED))
            return mishap
        reply = self._panel.reply(question)
        entry.fault = reply.odd
        answered = CountedReply(reply, *count_usage(messages, reply.text))
        self._input_tokens += answered.input_tokens
        self._output_tokens += answered.output_tokens
        self.output.append(_response_line(line, 200, completion(self._respondent, answered)))
        return "answered"

    def _draw_mishap(self, question: Question) -> Mishap | None:
        respondent, missed = self._respondent, self._missed[_question_key(question)]
        if missed >= respondent.faults.most:
            return None
        drawn = uniform(respondent.id, respondent.seed, question.text, question.seed, "batch", missed + 1)
        if drawn < respondent.batch_failures:
            return "batch_failures"
        return "batch_expired" if drawn < respondent.batch_failures + respondent.batch_expired else None


def _question_key(question: Question) -> str:
    return f"{uniform(question.respondent.id, question.text, question.seed):.17f}"


def _response_line(line: Line, status: int, body: Mapping[str, Any]) -> bytes:
    return _output_line(line, {"status_code": status, "request_id": uuid.uuid4().hex, "body": body}, None)


def _output_line(line: Line, response: Mapping[str, Any] | None, error: Mapping[str, str] | None) -> bytes:
    request = {"id": f"batch_req_{uuid.uuid4().hex}", "custom_id": line.custom_id}
    return json.dumps({**request, "response": response, "error": error}).encode() + b"\n"


DAY_S = 24 * 60 * 60
ENDED = ("completed", "failed", "expired", "cancelled")
VALIDATED, WORKED = 0.1, 0.9
"""End of each phase, as a share of the batch's time."""
STEPS = 10
"""Fewest updates of its counts, if it has as many lines."""
MOST_AT_ONCE = 100
"""Lines processed before the server handles other requests."""


class BatchJobs:
    """All batches of a server; each unfinished one has a task."""

    def __init__(self, service: Service, store: JobStore) -> None:
        self._service, self._store = service, store
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._cancelled: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._missed = Counter(key for batch in store.newest_first("batches") for key in batch.get("_missed", ()))

    def create(self, input_file_id: str, endpoint: str, metadata: Mapping[str, str] | None) -> Document:
        began = time.time()
        moments = ("in_progress", "finalizing", "completed", "failed", "expired", "cancelling", "cancelled")
        batch: Document = {
            "id": f"batch_{uuid.uuid4().hex}",
            "object": "batch",
            "endpoint": endpoint,
            "model": None,
            "errors": None,
            "input_file_id": input_file_id,
            "completion_window": "24h",
            "status": "validating",
            "output_file_id": None,
            "error_file_id": None,
            "created_at": int(began),
            **{f"{moment}_at": None for moment in moments},
            "expires_at": int(began) + DAY_S,
            "request_counts": {"total": 0, "completed": 0, "failed": 0},
            "usage": None,
            "metadata": metadata,
            "_began": began,
        }
        self._store.save("batches", batch)
        self.attend()
        return batch

    def attend(self) -> None:
        """Starts a task for every unfinished batch, including those of an earlier server."""
        for batch in self._store.newest_first("batches"):
            if batch["status"] not in ENDED and batch["id"] not in self._tasks:
                self._tasks[batch["id"]] = asyncio.create_task(self._live(batch))
            if batch["status"] == "cancelling":
                self._cancelled[batch["id"]].set()

    def cancel(self, batch: Document) -> None:
        """Cancels a batch; finished lines stay. Raises Declined if it has ended."""
        if batch["status"] in ENDED:
            raise Declined("conflict", f"Cannot cancel a batch with status '{batch['status']}'.")
        if batch["status"] != "cancelling":
            self._become(batch, "cancelling")
            self.attend()

    async def _live(self, batch: Document) -> None:
        lines, flaws = await self._validate(batch)
        if flaws:
            batch["errors"] = {"object": "list", "data": [asdict(flaw) for flaw in flaws]}
            self._become(batch, "failed")
            return
        respondent = self._service.respondent(batch["model"])
        batch["request_counts"]["total"] = len(lines)
        await self._until(batch, respondent, VALIDATED)
        self._advance(batch, "validating", "in_progress")
        replies = await self._work(batch, respondent, lines)
        self._advance(batch, "in_progress", "finalizing")
        await self._until(batch, respondent, 1)
        self._end(batch, replies)

    async def _validate(self, batch: Document) -> tuple[list[Line], list[Flaw]]:
        reader = BatchReader(batch["endpoint"], lambda model: self._service.directory.find(model) is not None)
        try:
            content = self._store.content(batch["input_file_id"])
        except (KeyError, OSError):
            return [], [Flaw("invalid_file", "The batch input file does not exist any more.", "input_file_id")]
        found = await asyncio.to_thread(reader.read, content)
        batch["model"] = reader.model
        return found

    async def _work(self, batch: Document, respondent: Respondent, lines: list[Line]) -> BatchReplies:
        replies = BatchReplies(self._service.panel, batch["id"], respondent, self._missed)
        counts = batch["request_counts"]
        # a batch's output has its own order
        lines = sorted(lines, key=lambda line: uniform(line.custom_id))
        size = max(1, min(MOST_AT_ONCE, len(lines) // STEPS))
        for done in range(0, len(lines), size):
            share = VALIDATED + (WORKED - VALIDATED) * min(1, (done + size) / len(lines))
            await self._until(batch, respondent, share)
            if batch["status"] == "cancelling":
                break
            for line in lines[done : done + size]:
                replies.add(line)
            counts["completed"], counts["failed"] = len(replies.output), len(replies.errors)
        return replies

    def _end(self, batch: Document, replies: BatchReplies) -> None:
        batch["output_file_id"] = self._file(batch, "output", replies.output)
        batch["error_file_id"] = self._file(batch, "error", replies.errors)
        batch["usage"] = replies.usage
        batch["_missed"] = replies.missed
        cancelled = batch["status"] == "cancelling"
        self._become(batch, "cancelled" if cancelled else "expired" if replies.expired else "completed")
        self._missed.update(replies.missed)
        for entry, outcome in replies.entries:
            self._service.journal.close(entry, outcome)

    def _file(self, batch: Document, kind: str, lines: list[bytes]) -> str | None:
        if not lines:
            return None
        return str(self._store.add_file(b"".join(lines), f"{batch['id']}_{kind}.jsonl", "batch_output")["id"])

    def _advance(self, batch: Document, before: str, status: str) -> None:
        """Changes the status from `before`; a batch being cancelled stays so, a resumed one never goes back."""
        if batch["status"] == before:
            self._become(batch, status)

    def _become(self, batch: Document, status: str) -> None:
        batch["status"] = status
        batch[f"{status}_at"] = int(time.time())
        self._store.save("batches", batch)

    async def _until(self, batch: Document, respondent: Respondent, share: float) -> None:
        """Waits until that share of the batch's time is over; returns at once if it is cancelled."""
        rest = batch["_began"] + share * respondent.batch_s - time.time()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._cancelled[batch["id"]].wait(), max(0.0, rest))
