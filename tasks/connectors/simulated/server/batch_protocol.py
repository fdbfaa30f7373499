"""OpenAI's files and batches over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from email.message import Message
from email.parser import BytesHeaderParser
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from biasgrid.tasks.connectors.simulated.server.batch_lines import MOST_BYTES
from biasgrid.tasks.connectors.simulated.server.batches import ENDED, BatchJobs
from biasgrid.tasks.connectors.simulated.server.openai_protocol import openai_error
from biasgrid.tasks.connectors.simulated.server.service import Declined, Handler, Service, read_body, with_errors
from biasgrid.tasks.connectors.simulated.server.store import Document, JobStore, public_fields

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
    said = BytesHeaderParser().parsebytes(head.lstrip() + HEADERS_END)
    name = said.get_param("name", header="content-disposition")
    if not found or not isinstance(name, str):
        raise ValueError("a part has no name")
    return name, FormPart(content, said.get_filename())


PREFIXES = ("/v1", "", "/openai/v1", "/openai")
ENDPOINTS = ("/v1/chat/completions",)
PURPOSES = ("assistants", "batch", "fine-tune", "vision", "user_data", "evals")
MOST_METADATA = 16
LONGEST_NAME, LONGEST_VALUE = 64, 512
PAGE, LONGEST_PAGE = 20, 100


class BatchProtocol:
    def __init__(self, service: Service, store: JobStore) -> None:
        self._store = store
        self._batches = BatchJobs(service, store)

    def routes(self) -> list[Route]:
        handlers: tuple[tuple[str, str, Handler], ...] = (
            ("POST", "/files", self.upload),
            ("GET", "/files", self.files),
            ("GET", "/files/{id}", self.file),
            ("DELETE", "/files/{id}", self.remove),
            ("GET", "/files/{id}/content", self.content),
            ("POST", "/batches", self.create),
            ("GET", "/batches", self.batches),
            ("GET", "/batches/{id}", self.batch),
            ("POST", "/batches/{id}/cancel", self.cancel),
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
        file, purpose = (
            form.get("file"),
            form["purpose"].content.decode(errors="replace") if "purpose" in form else "",
        )
        if file is None:
            raise Declined("invalid", "'file' is a required property.")
        if purpose not in PURPOSES:
            raise Declined("invalid", f"'{purpose}' is not one of {list(PURPOSES)} - 'purpose'.")
        filename = file.filename or "upload"
        _check_purpose(purpose, filename, len(file.content))
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

    async def create(self, request: Request) -> Response:
        body = await read_body(request)
        endpoint, window = body.get("endpoint"), body.get("completion_window")
        if endpoint not in ENDPOINTS:
            raise Declined("invalid", f"Invalid value: '{endpoint}'. Supported values are: '{ENDPOINTS[0]}'.")
        if window != "24h":
            raise Declined("invalid", f"Invalid value: '{window}'. Value must be '24h'.")
        file = self._file(str(body.get("input_file_id")))
        if file["purpose"] != "batch":
            raise Declined("invalid", "The input file was uploaded for another purpose than 'batch'.")
        return JSONResponse(public_fields(self._batches.create(file["id"], endpoint, read_metadata(body))))

    async def batches(self, request: Request) -> Response:
        self._batches.attend()
        return JSONResponse(build_page(self._store.newest_first("batches"), request))

    async def batch(self, request: Request) -> Response:
        return JSONResponse(public_fields(self._batch(request)))

    async def cancel(self, request: Request) -> Response:
        batch = self._batch(request)
        if batch["status"] in ENDED:
            raise Declined("conflict", f"Cannot cancel a batch with status '{batch['status']}'.")
        self._batches.cancel(batch)
        return JSONResponse(public_fields(batch))

    def _file(self, file_id: str) -> Document:
        found = self._store.find("files", file_id)
        if found is None:
            raise Declined("missing", f"No such File object: {file_id}")
        return found

    def _batch(self, request: Request) -> Document:
        self._batches.attend()
        found = self._store.find("batches", request.path_params["id"])
        if found is None:
            raise Declined("missing", f"No batch found with id '{request.path_params['id']}'.")
        return found


def _check_purpose(purpose: str, filename: str, size: int) -> None:
    if purpose == "batch" and not filename.endswith(".jsonl"):
        raise Declined("invalid", "Invalid file format for Batch API. Must be .jsonl")
    if purpose == "batch" and size > MOST_BYTES:
        raise Declined("invalid", f"The file has {size} bytes; the Batch API takes {MOST_BYTES} at most.")


def read_metadata(body: Mapping[str, Any]) -> dict[str, str] | None:
    """The metadata of a job. Raises Declined if OpenAI would reject it."""
    given = body.get("metadata")
    if given is None:
        return None
    if not isinstance(given, dict) or not all(isinstance(value, str) for value in given.values()):
        raise Declined("invalid", "Invalid type for 'metadata': expected a map of strings to strings.")
    if len(given) > MOST_METADATA:
        raise Declined("invalid", f"Invalid 'metadata': it has more than {MOST_METADATA} keys.")
    if any(len(name) > LONGEST_NAME or len(value) > LONGEST_VALUE for name, value in given.items()):
        raise Declined(
            "invalid", "Invalid 'metadata': a key has more than 64 characters, or a value more than 512."
        )
    return given


def build_page(found: list[Document], request: Request) -> Document:
    """The documents after `after`, newest first, at most `limit`."""
    after, size = request.query_params.get("after"), _read_limit(request)
    places = [place for place, document in enumerate(found) if document["id"] == after]
    if after and not places:
        raise Declined("missing", f"Nothing found with id '{after}'.")
    start = places[0] + 1 if places else 0
    own = found[start : start + size]
    return {
        "object": "list",
        "data": [public_fields(document) for document in own],
        "first_id": own[0]["id"] if own else None,
        "last_id": own[-1]["id"] if own else None,
        "has_more": len(found) > start + size,
    }


def _read_limit(request: Request) -> int:
    asked = request.query_params.get("limit", str(PAGE))
    if not asked.isascii() or not asked.isdigit() or not 1 <= int(asked) <= LONGEST_PAGE:
        raise Declined("invalid", f"Invalid 'limit': it has to be between 1 and {LONGEST_PAGE}.")
    return int(asked)
