"""OpenAI's files, batches and fine-tuning jobs over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from email.message import Message
from email.parser import BytesHeaderParser
from functools import partial
from typing import Any, Literal

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from biasgrid.tasks.connectors.simulated.server.batch_lines import MOST_BYTES
from biasgrid.tasks.connectors.simulated.server.batches import BatchJobs
from biasgrid.tasks.connectors.simulated.server.openai_protocol import openai_error
from biasgrid.tasks.connectors.simulated.server.service import (
    Declined,
    Handler,
    Service,
    read_body,
    read_seed,
    with_errors,
)
from biasgrid.tasks.connectors.simulated.server.store import Document, JobStore, public_fields
from biasgrid.tasks.connectors.simulated.server.tunings import TuningJobs

HEADERS_END = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class FormPart:
    content: bytes
    filename: str | None


def read_form(content_type: str, body: bytes) -> dict[str, FormPart]:
    """Parts of a form by field name. Raises ValueError if the body is no such form."""
    header = Message()
    header["content-type"] = content_type
    boundary = header.get_param("boundary")
    if header.get_content_type() != "multipart/form-data" or not isinstance(boundary, str) or not boundary:
        raise ValueError("no multipart form")
    # the first piece is a preamble, the last one follows the closing boundary
    pieces = (b"\r\n" + body).split(b"\r\n--" + boundary.encode())[1:-1]
    return dict(_read_part(piece) for piece in pieces)


def _read_part(piece: bytes) -> tuple[str, FormPart]:
    head, found, content = piece.partition(HEADERS_END)
    headers = BytesHeaderParser().parsebytes(head.lstrip() + HEADERS_END)
    name = headers.get_param("name", header="content-disposition")
    if not found or not isinstance(name, str):
        raise ValueError("a part has no name")
    return name, FormPart(content, headers.get_filename())


PREFIXES = ("/v1", "", "/openai/v1", "/openai")
ENDPOINTS = ("/v1/chat/completions",)
PURPOSES = ("assistants", "batch", "fine-tune", "vision", "user_data", "evals")
MOST_METADATA = 16
LONGEST_NAME, LONGEST_VALUE = 64, 512
PAGE, LONGEST_PAGE = 20, 100
LONGEST_SUFFIX = 64
MOST_EPOCHS = 50
Kind = Literal["batches", "tunings"]
UNKNOWN: Mapping[Kind, str] = {
    "batches": "No batch found with id '{}'.",
    "tunings": "Could not find fine tune: {}",
}


class JobProtocol:
    def __init__(self, service: Service, store: JobStore) -> None:
        self._service, self._store = service, store
        self._batches, self._tunings = BatchJobs(service, store), TuningJobs(service, store)
        self._jobs: Mapping[Kind, BatchJobs | TuningJobs] = {"batches": self._batches, "tunings": self._tunings}

    def routes(self) -> list[Route]:
        batches, tunings = "/batches", "/fine_tuning/jobs"
        handlers: tuple[tuple[str, str, Handler], ...] = (
            ("POST", "/files", self.upload),
            ("GET", "/files", self.files),
            ("GET", "/files/{id}", self.file),
            ("DELETE", "/files/{id}", self.remove),
            ("GET", "/files/{id}/content", self.content),
            ("POST", batches, self.create_batch),
            ("GET", batches, partial(self.jobs, "batches")),
            ("GET", f"{batches}/{{id}}", partial(self.job, "batches")),
            ("POST", f"{batches}/{{id}}/cancel", partial(self.cancel, "batches")),
            ("POST", tunings, self.create_tuning),
            ("GET", tunings, partial(self.jobs, "tunings")),
            ("GET", f"{tunings}/{{id}}", partial(self.job, "tunings")),
            ("POST", f"{tunings}/{{id}}/cancel", partial(self.cancel, "tunings")),
            ("GET", f"{tunings}/{{id}}/events", self.events),
            ("GET", f"{tunings}/{{id}}/checkpoints", self.checkpoints),
        )
        return [
            Route(prefix + path, with_errors(handler, openai_error), methods=[method])
            for prefix in PREFIXES
            for method, path, handler in handlers
        ]

    async def upload(self, request: Request) -> Response:
        try:
            form = read_form(request.headers.get("content-type", ""), await request.body())
        except ValueError as unreadable:
            raise Declined("invalid", f"The body could not be read as a form: {unreadable}.") from None
        file = form.get("file")
        purpose = form["purpose"].content.decode(errors="replace") if "purpose" in form else ""
        if file is None:
            raise Declined("invalid", "'file' is a required property.")
        if purpose not in PURPOSES:
            raise Declined("invalid", f"'{purpose}' is not one of {list(PURPOSES)} - 'purpose'.")
        filename, size = file.filename or "upload", len(file.content)
        if purpose == "batch" and not filename.endswith(".jsonl"):
            raise Declined("invalid", "Invalid file format for Batch API. Must be .jsonl")
        if purpose == "batch" and size > MOST_BYTES:
            raise Declined("invalid", f"The file has {size} bytes; the Batch API takes {MOST_BYTES} at most.")
        return JSONResponse(public_fields(self._store.add_file(file.content, filename, purpose)))

    async def files(self, request: Request) -> Response:
        purpose = request.query_params.get("purpose")
        found = [file for file in self._store.newest_first("files") if purpose in (None, file["purpose"])]
        return JSONResponse(build_page(found, request))

    async def file(self, request: Request) -> Response:
        return JSONResponse(public_fields(self._file(request.path_params["id"])))

    async def content(self, request: Request) -> Response:
        file = self._file(request.path_params["id"])
        return Response(self._store.content(file["id"]), media_type="application/octet-stream")

    async def remove(self, request: Request) -> Response:
        file = self._file(request.path_params["id"])
        self._store.remove_file(file["id"])
        return JSONResponse({"id": file["id"], "object": "file", "deleted": True})

    async def create_batch(self, request: Request) -> Response:
        body = await read_body(request)
        endpoint, window = body.get("endpoint"), body.get("completion_window")
        if endpoint not in ENDPOINTS:
            raise Declined("invalid", f"Invalid value: '{endpoint}'. Supported values are: '{ENDPOINTS[0]}'.")
        if window != "24h":
            raise Declined("invalid", f"Invalid value: '{window}'. Value must be '24h'.")
        file = self._file(str(body.get("input_file_id")))
        if file["purpose"] != "batch":
            raise Declined("invalid", "The input file was uploaded for another purpose than 'batch'.")
        return JSONResponse(public_fields(self._batches.create(file["id"], endpoint, _read_metadata(body))))

    async def create_tuning(self, request: Request) -> Response:
        body = await read_body(request)
        model = body.get("model")
        if not isinstance(model, str) or self._service.directory.find(model) is None:
            what = f"Model {model} is not available for fine-tuning or does not exist."
            raise Declined("invalid", what)
        ordered = {
            "model": model,
            "training_file": self._tuning_file(body, "training_file"),
            "validation_file": self._tuning_file(body, "validation_file") if body.get("validation_file") else None,
            "hyperparameters": _hyperparameters(body),
            "seed": read_seed(body) or 0,
            "metadata": _read_metadata(body),
            "method": body.get("method"),
            "_suffix": _suffix(body),
        }
        return JSONResponse(public_fields(self._tunings.create(ordered)))

    async def jobs(self, kind: Kind, request: Request) -> Response:
        self._jobs[kind].attend()
        return JSONResponse(build_page(self._store.newest_first(kind), request))

    async def job(self, kind: Kind, request: Request) -> Response:
        return JSONResponse(public_fields(self._job(kind, request)))

    async def cancel(self, kind: Kind, request: Request) -> Response:
        job = self._job(kind, request)
        self._jobs[kind].cancel(job)
        return JSONResponse(public_fields(job))

    async def events(self, request: Request) -> Response:
        return JSONResponse(build_page(self._tunings.events(self._job("tunings", request)), request))

    async def checkpoints(self, request: Request) -> Response:
        return JSONResponse(build_page(self._tunings.checkpoints(self._job("tunings", request)), request))

    def _job(self, kind: Kind, request: Request) -> Document:
        self._jobs[kind].attend()
        return self._find(kind, request.path_params["id"], UNKNOWN[kind])

    def _file(self, file_id: str) -> Document:
        return self._find("files", file_id, "No such File object: {}")

    def _find(self, kind: str, document_id: str, unknown: str) -> Document:
        found = self._store.find(kind, document_id)
        if found is None:
            raise Declined("missing", unknown.format(document_id))
        return found

    def _tuning_file(self, body: Mapping[str, Any], name: str) -> str:
        file_id = str(body.get(name))
        found = self._store.find("files", file_id)
        if found is None:
            raise Declined("invalid", f"invalid {name}: {file_id}")
        if found["purpose"] != "fine-tune":
            what = f"File '{file_id}' has purpose '{found['purpose']}', and 'fine-tune' is needed."
            raise Declined("invalid", what)
        return file_id


def _read_metadata(body: Mapping[str, Any]) -> dict[str, str] | None:
    """The metadata of a job. Raises Declined if OpenAI would reject it."""
    given = body.get("metadata")
    if given is None:
        return None
    if not isinstance(given, dict) or not all(isinstance(value, str) for value in given.values()):
        raise Declined("invalid", "Invalid type for 'metadata': expected a map of strings to strings.")
    if len(given) > MOST_METADATA:
        raise Declined("invalid", f"Invalid 'metadata': it has more than {MOST_METADATA} keys.")
    if any(len(name) > LONGEST_NAME or len(value) > LONGEST_VALUE for name, value in given.items()):
        what = "Invalid 'metadata': a key has more than 64 characters, or a value more than 512."
        raise Declined("invalid", what)
    return given


def _hyperparameters(body: Mapping[str, Any]) -> Document:
    """The hyperparameters of the method, or of the older field; the server chooses the others."""
    method = body.get("method")
    given = method.get("supervised", {}) if isinstance(method, dict) else body
    found = given.get("hyperparameters") if isinstance(given, dict) else None
    chosen = found if isinstance(found, dict) else {}
    epochs = chosen.get("n_epochs", "auto")
    if epochs != "auto" and not (isinstance(epochs, int) and 1 <= epochs <= MOST_EPOCHS):
        raise Declined("invalid", f"Invalid 'n_epochs': {epochs} is no number from 1 to {MOST_EPOCHS}.")
    return {"batch_size": "auto", "learning_rate_multiplier": "auto", "n_epochs": epochs} | chosen


def _suffix(body: Mapping[str, Any]) -> str | None:
    suffix = body.get("suffix")
    if suffix is not None and (not isinstance(suffix, str) or not 1 <= len(suffix) <= LONGEST_SUFFIX):
        raise Declined("invalid", f"Invalid 'suffix': it has to have 1 to {LONGEST_SUFFIX} characters.")
    return suffix


def build_page(found: list[Document], request: Request) -> Document:
    """The documents after `after`, newest first, at most `limit`."""
    after, limit = request.query_params.get("after"), request.query_params.get("limit", str(PAGE))
    if not limit.isascii() or not limit.isdigit() or not 1 <= int(limit) <= LONGEST_PAGE:
        raise Declined("invalid", f"Invalid 'limit': it has to be between 1 and {LONGEST_PAGE}.")
    places = [place for place, document in enumerate(found) if document["id"] == after]
    if after and not places:
        raise Declined("missing", f"Nothing found with id '{after}'.")
    start = places[0] + 1 if places else 0
    own = found[start : start + int(limit)]
    return {
        "object": "list",
        "data": [public_fields(document) for document in own],
        "first_id": own[0]["id"] if own else None,
        "last_id": own[-1]["id"] if own else None,
        "has_more": len(found) > start + int(limit),
    }
