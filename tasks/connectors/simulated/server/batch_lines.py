"""A batch's input file: its requests, and its errors in OpenAI's terms."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

MOST_LINES = 50_000
MOST_BYTES = 200_000_000
MOST_ERRORS = 100
REQUIRED = ("custom_id", "method", "url", "body")


@dataclass(frozen=True, slots=True)
class Line:
    custom_id: str
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Flaw:
    """Why a batch fails before it begins: an entry of its `errors`."""

    code: str
    message: str
    param: str | None = None
    line: int | None = None
    """Line from 1; None for an error of the whole file."""


class InvalidLine(Exception):
    """A line that cannot be part of its batch."""

    def __init__(self, code: str, message: str, param: str | None = None) -> None:
        super().__init__(code, message, param)
        self.code, self.message, self.param = code, message, param


class BatchReader:
    """Reads lines in order; each must be consistent with the previous ones."""

    def __init__(self, endpoint: str, known: Callable[[str], bool]) -> None:
        """`known` returns whether a model has a respondent."""
        self._endpoint, self._known = endpoint, known
        self._seen: set[str] = set()
        self.model: str | None = None
        """The model of all lines."""

    def read(self, content: bytes) -> tuple[list[Line], list[Flaw]]:
        """All requests and all errors; any error fails the batch."""
        numbered = [(number, text) for number, text in enumerate(content.split(b"\n"), 1) if text.strip()]
        if not numbered:
            return [], [Flaw("empty_file", "The batch input file holds no requests.")]
        if len(numbered) > MOST_LINES:
            message = f"The batch input file holds {len(numbered)} requests; the most is {MOST_LINES}."
            return [], [Flaw("too_many_tasks", message)]
        lines, flaws = [], []
        for number, text in numbered:
            try:
                lines.append(self._line(text))
            except InvalidLine as unfit:
                flaws.append(Flaw(unfit.code, unfit.message, unfit.param, number))
        return lines, flaws[:MOST_ERRORS]

    def _line(self, text: bytes) -> Line:
        request = _parse_line(text)
        for check in (self._url, self._custom_id, self._model):
            check(request)
        return Line(request["custom_id"], request["body"])

    def _url(self, request: dict[str, Any]) -> None:
        if request["method"] != "POST":
            raise InvalidLine("invalid_method", "Only POST requests can be part of a batch.", "method")
        if request["url"] != self._endpoint:
            message = f"The URL '{request['url']}' is not the batch's endpoint '{self._endpoint}'."
            raise InvalidLine("url_mismatch", message, "url")

    def _custom_id(self, request: dict[str, Any]) -> None:
        custom_id = request["custom_id"]
        if not isinstance(custom_id, str) or not custom_id:
            raise InvalidLine("invalid_custom_id", "The custom_id is no text, or an empty one.", "custom_id")
        if custom_id in self._seen:
            message = f"The custom_id '{custom_id}' is a duplicate: it has to be unique in a batch."
            raise InvalidLine("duplicate_custom_id", message, "custom_id")
        self._seen.add(custom_id)

    def _model(self, request: dict[str, Any]) -> None:
        model = request["body"].get("model")
        if not isinstance(model, str):
            raise InvalidLine("missing_required_parameter", "You must provide a model.", "body.model")
        if not self._known(model):
            message = f"The provided model '{model}' is not supported by the Batch API."
            raise InvalidLine("model_not_found", message, "body.model")
        self.model = self.model or model
        if model != self.model:
            message = f"The model '{model}' is not that of the requests before, '{self.model}'."
            raise InvalidLine("model_mismatch", message, "body.model")


def _parse_line(text: bytes) -> dict[str, Any]:
    try:
        request = json.loads(text)
    except (ValueError, RecursionError):
        request = None
    if not isinstance(request, dict):
        raise InvalidLine("invalid_json_line", "This line is not parseable as valid JSON.")
    for name in _missing_fields(request):
        raise InvalidLine("missing_required_parameter", f"Missing required parameter: '{name}'.", name)
    return request


def _missing_fields(request: dict[str, Any]) -> Iterator[str]:
    yield from (name for name in REQUIRED if name not in request)
    if not isinstance(request.get("body"), dict):
        yield "body"
