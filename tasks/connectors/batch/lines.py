"""Lines of a batch's input and output files, without an SDK."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

import orjson

from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.api import (
    ConnectorError,
    ModelStopped,
    Reply,
    Request,
    RequestRejected,
    Terminal,
    TimedOut,
    withheld_reply,
)
from biasgrid.tasks.connectors.client.error_mapping import ErrorMapper, Withheld
from biasgrid.tasks.connectors.json_objects import Body, parse_body
from biasgrid.tasks.connectors.providers.chat import NEW, OLD, chat_body, read_completion

ENDPOINT: Final = "/v1/chat/completions"
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


class BatchLines:
    """Reads and writes lines of one model's batches; `spelling` is the name of the token limit."""

    def __init__(self, target: Target, faults: ErrorMapper, spelling: str) -> None:
        self._name = target.name
        self._accepted = frozenset(target.parameters)
        self._faults = faults
        self._spelling = spelling
        self._learnt = False
        self._most_mb = target.limits.max_reply_mb
        self._longest = int(self._most_mb * 1_000_000) + FRAME

    def of(self, request: Request) -> bytes:
        """A request as a line of an input file, with the same body as a single request."""
        body = chat_body(request, self._name, self._accepted, self._spelling)
        line = {"custom_id": request.request_key, "method": "POST", "url": ENDPOINT, "body": body}
        try:
            return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)
        except orjson.JSONEncodeError:  # a lone surrogate
            return f"{json.dumps(line)}\n".encode()

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
        key = found.get("custom_id") if isinstance(found, dict) else None
        if not isinstance(found, dict) or not isinstance(key, str):
            return None
        response, error = found.get("response"), found.get("error")
        if isinstance(response, dict) and isinstance(response.get("status_code"), int):
            return key, self._read_response(response["status_code"], response.get("body"))
        return key, self._describe_missing(error if isinstance(error, dict) else {})

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

    def learn_from(self, outcome: Outcome) -> bool:
        """Whether a request was rejected only for the token limit's name; later lines use the right one."""
        if not isinstance(outcome, RequestRejected) or NEW not in str(outcome):
            return False
        if self._spelling == OLD:
            self._spelling, self._learnt = NEW, True
        return self._learnt

    def _read_response(self, status: int, body: object) -> Outcome:
        try:
            if status < 300:
                raw = json.dumps(body).encode()
                if isinstance(body, dict):
                    return read_completion(Body(body, raw), self._faults)
                return self._faults.no_object(raw, "a batch's line")
        except ConnectorError as unreadable:
            return unreadable.with_traceback(None)
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
