"""Batches, and lines of their input and output files, without an SDK."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, BinaryIO, Final

import orjson

from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.api import (
    ConnectorError,
    ModelStopped,
    Reply,
    Request,
    Terminal,
    TimedOut,
    withheld_reply,
)
from biasgrid.tasks.connectors.client.error_mapping import ErrorMapper, Withheld
from biasgrid.tasks.connectors.json_objects import Body, parse_body

QUEUE_FULL = "token_limit_exceeded"
ENDED = ("completed", "failed", "expired", "cancelled")
"""States in which a batch has ended."""
QUOTED = 3
"""Number of rejection reasons quoted in a message."""

FRAME: Final = 10_000
"""Bytes that stand around a reply in its line."""
CUSTOM_ID: Final = re.compile(rb'"custom_id"\s*:\s*"([\x20\x21\x23-\x5b\x5d-\x7e]+)"')

Outcome = Reply | ConnectorError


class BatchRejected(ModelStopped):
    """The batch was rejected as a whole; sending it again would fail the same way."""


class BatchUnknown(ModelStopped):
    """The provider does not know a batch that it had accepted."""


class OutputTooLong(ModelStopped):
    """A batch's file is longer than the replies to its requests may be."""


class OtherBatch(Exception):
    """A batch that was taken for a job's is another's."""


class BatchCancelled(Terminal):
    """The batch was cancelled at the provider before this request was processed."""


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch as the provider describes it."""

    id: str
    state: str
    output_file_id: str | None = None
    error_file_id: str | None = None
    completed: int | None = None
    failed: int | None = None
    errors: tuple[tuple[str, str], ...] = ()
    """Reasons why the whole batch was rejected: code, and message with its line."""

    @property
    def ended(self) -> bool:
        return self.state in ENDED

    @property
    def queue_full(self) -> bool:
        """Whether the batch was rejected only because too many tokens are already queued."""
        return self.state == "failed" and any(code == QUEUE_FULL for code, _ in self.errors)


@dataclass(frozen=True, slots=True)
class SoughtBatch:
    """What is known of a batch whose id is not."""

    job_id: str
    began_at: datetime
    requests: int
    known: frozenset[str] = frozenset()
    """Ids of batches of other jobs."""


class BatchLines:
    """Reads and writes lines of one model's batches."""

    def __init__(self, target: Target, faults: ErrorMapper) -> None:
        self._name = target.name
        self._accepted = frozenset(target.parameters)
        self._faults = faults
        self._most_mb = target.limits.max_reply_mb
        self._longest = int(self._most_mb * 1_000_000) + FRAME

    def of(self, request: Request) -> bytes:
        """A request as a line of an input file, with the same body as a single request."""
        raise NotImplementedError

    def keys_by_name(self, job_id: str, keys: Iterable[str]) -> Mapping[str, str]:
        """The keys of a job's requests by their custom_id."""
        return {key: key for key in keys}

    def is_of(self, job_id: str, custom_id: str) -> bool:
        """Whether a batch with such a request can be the job's."""
        return True

    def learn_from(self, outcome: Outcome) -> bool:
        """Whether a request was rejected only for something that later lines spell right."""
        return False

    def most_bytes(self, requests: int) -> int:
        """The longest file with the replies to so many requests."""
        return self._longest * requests

    def output_too_long(self, requests: int) -> OutputTooLong:
        what = f"the batch's file has more than {self._most_mb:g} MB, which `max_reply_mb` sets, for each of its"
        remedy = "set more, and `biasgrid resume` collects it"
        return OutputTooLong(str(self._faults.reject(f"{what} {requests:,} requests; {remedy}")))

    def outcomes(self, file: BinaryIO) -> Iterator[tuple[str, Outcome] | None]:
        """As `outcome`, for each line of a file; of one that is too long, the beginning is read."""
        while line := file.readline(self._longest):
            if line.endswith(b"\n") or len(line) < self._longest:
                yield self.outcome(line)
                continue
            named = CUSTOM_ID.search(line[:FRAME])
            too_long = self._faults.too_long(f"has more than {self._most_mb:g} MB, which `max_reply_mb` sets")
            yield (named[1].decode(), too_long) if named else None
            while (rest := file.readline(self._longest)) and not rest.endswith(b"\n"):
                pass

    def outcome(self, line: bytes) -> tuple[str, Outcome] | None:
        """The custom_id and outcome in a line of an output or error file; None if it has none."""
        try:
            found = parse_body(line)
        except ValueError:
            return None
        name = found.get("custom_id") if isinstance(found, dict) else None
        if not isinstance(found, dict) or not isinstance(name, str):
            return None
        return name, self._read_outcome(found)

    def error_without_line(self, state: str) -> ConnectorError:
        """The error of a request without a line in a batch that ended in `state`."""
        return self._describe_missing({"code": f"batch_{state}"} if state in ("expired", "cancelled") else {})

    def refusal(self, batch: Batch) -> ModelStopped:
        """The error of a batch that was rejected as a whole, with the provider's reasons."""
        code = next((code for code, _ in batch.errors), "")
        words = "; ".join(words for _, words in batch.errors[:QUOTED]) or f"it ended as `{batch.state}`"
        error = self._faults.status(400, {}, orjson.dumps({"error": {"code": code, "message": words}}))
        return error if isinstance(error, ModelStopped) else self.reject(words)

    def reject(self, words: str) -> BatchRejected:
        return BatchRejected(str(self._faults.reject(f"the batch was rejected: {words}")))

    def unknown(self, batch_id: str) -> BatchUnknown:
        unknown = self._faults.reject(f"the provider knows no batch {batch_id} under this key")
        return BatchUnknown(f"{unknown}; set the key it was submitted with, or `biasgrid resume` asks again")

    def _read_outcome(self, line: Mapping[str, Any]) -> Outcome:
        """The outcome in a line."""
        raise NotImplementedError

    def _read_reply(self, body: object, read: Callable[[Body, ErrorMapper], Reply]) -> Outcome:
        """The reply in the body of a success, or why it cannot be read."""
        raw = json.dumps(body).encode()
        if not isinstance(body, dict):
            return self._faults.no_object(raw, "a batch's line")
        try:
            return read(Body(body, raw), self._faults)
        except ConnectorError as unreadable:
            return unreadable.with_traceback(None)

    def _read_error(self, status: int, body: object) -> Outcome:
        """The error of a request; one that a filter withheld has a reply without text."""
        error = self._faults.status(status, {}, json.dumps(body).encode())
        return withheld_reply() if isinstance(error, Withheld) else error

    def _describe_missing(self, error: dict[str, Any]) -> ConnectorError:
        code, words = str(error.get("code") or ""), str(error.get("message") or "")
        missing = self._faults.server(f"{UNANSWERED.get(code, 'the batch brought no reply')} {words}".strip())
        if code == "batch_expired":
            return TimedOut(str(missing))
        if code == "batch_cancelled":
            return BatchCancelled(f"{missing}; `biasgrid resume` asks again")
        return missing


UNANSWERED = {
    "batch_expired": "not answered within the batch's window",
    "batch_cancelled": "the batch was cancelled at the provider",
}


def dump_line(line: Mapping[str, Any]) -> bytes:
    """A line of an input file."""
    try:
        return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)
    except orjson.JSONEncodeError:  # a lone surrogate
        return f"{json.dumps(line, separators=(',', ':'))}\n".encode()
