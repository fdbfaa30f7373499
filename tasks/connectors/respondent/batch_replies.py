"""What a batch brings, line by line: replies, failures, and what was not done in time."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from catalogs.respondents import Respondent
from tasks.connectors.respondent.batch_lines import Line
from tasks.connectors.respondent.chance import uniform
from tasks.connectors.respondent.journal import Entry, digest
from tasks.connectors.respondent.openai_protocol import completion, counted, read, worded
from tasks.connectors.respondent.panel import Panel, Question
from tasks.connectors.respondent.service import STATUS, Answered, Declined
from tasks.connectors.respondent.shelf import Document

Mishap = Literal["batch_failures", "batch_expired"]
EXPIRED = {
    "code": "batch_expired",
    "message": "This request could not be executed before the completion window expired.",
}
FAILED = Declined("fault", "The server had an error while processing the request.")


@dataclass(slots=True)
class Yield:
    """What a batch has brought so far."""

    output: list[bytes] = field(default_factory=list)
    errors: list[bytes] = field(default_factory=list)
    entries: list[tuple[Entry, str]] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    input_tokens: int = 0
    output_tokens: int = 0
    expired: bool = False

    @property
    def usage(self) -> Document:
        return {
            "input_tokens": self.input_tokens,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": self.output_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": self.input_tokens + self.output_tokens,
        }


class Replies:
    """Answers the lines of one batch. `missed` counts what became of their questions in batches before it."""

    def __init__(self, panel: Panel, batch_id: str, respondent: Respondent, missed: Counter[str]) -> None:
        self._panel, self._batch_id, self._respondent, self._missed = panel, batch_id, respondent, missed
        self.brought = Yield()

    def add(self, line: Line) -> None:
        entry = Entry(model=line.body["model"], batch=self._batch_id)
        try:
            outcome = self._reply(line, entry)
        except Declined as declined:
            outcome = declined.reason
            self.brought.errors.append(_responded(line, STATUS[declined.reason], worded(declined)))
        self.brought.entries.append((entry, outcome))

    def _reply(self, line: Line, entry: Entry) -> str:
        """The outcome. Raises Declined where the request is invalid."""
        question, messages = read(line.body, self._respondent)
        entry.messages, entry.seed = digest(messages), question.seed
        mishap = self._mishap(question)
        if mishap is not None:
            self._miss(mishap, question, line)
            return mishap
        reply = self._panel.reply(question)
        entry.fault = reply.odd
        self._answer(line, Answered(reply, *counted(messages, reply.text)))
        return "answered"

    def _answer(self, line: Line, answered: Answered) -> None:
        self.brought.input_tokens += answered.input_tokens
        self.brought.output_tokens += answered.output_tokens
        self.brought.output.append(_responded(line, 200, completion(self._respondent, answered)))

    def _mishap(self, question: Question) -> Mishap | None:
        respondent, missed = self._respondent, self._missed[_key(question)]
        if missed >= respondent.faults.most:
            return None
        drawn = uniform(respondent.id, respondent.seed, question.text, question.seed, "batch", missed + 1)
        if drawn < respondent.batch_failures:
            return "batch_failures"
        return "batch_expired" if drawn < respondent.batch_failures + respondent.batch_expired else None

    def _miss(self, mishap: Mishap, question: Question, line: Line) -> None:
        self.brought.missed.append(_key(question))
        if mishap == "batch_expired":
            self.brought.expired = True
            self.brought.errors.append(_written(line, None, EXPIRED))
        else:
            self.brought.errors.append(_responded(line, STATUS["fault"], worded(FAILED)))


def _key(question: Question) -> str:
    return f"{uniform(question.respondent.id, question.text, question.seed):.17f}"


def _responded(line: Line, status: int, body: Mapping[str, Any]) -> bytes:
    return _written(line, {"status_code": status, "request_id": uuid.uuid4().hex, "body": body}, None)


def _written(line: Line, response: Mapping[str, Any] | None, error: Mapping[str, str] | None) -> bytes:
    request = {"id": f"batch_req_{uuid.uuid4().hex}", "custom_id": line.custom_id}
    return json.dumps({**request, "response": response, "error": error}).encode() + b"\n"
