"""OpenAI's fine-tuning over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from biasgrid.tasks.connectors.simulated.server.batch_protocol import PREFIXES, build_page, read_metadata
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
from biasgrid.tasks.connectors.simulated.server.tunings import ENDED, TuningJobs

LONGEST_SUFFIX = 64
MOST_EPOCHS = 50


class TuningProtocol:
    def __init__(self, service: Service, store: JobStore) -> None:
        self._service, self._store = service, store
        self._tunings = TuningJobs(service, store)

    def routes(self) -> list[Route]:
        handlers: tuple[tuple[str, str, Handler], ...] = (
            ("POST", "", self.create),
            ("GET", "", self.jobs),
            ("GET", "/{id}", self.job),
            ("POST", "/{id}/cancel", self.cancel),
            ("GET", "/{id}/events", self.events),
            ("GET", "/{id}/checkpoints", self.checkpoints),
        )
        return [
            Route(f"{prefix}/fine_tuning/jobs{path}", with_errors(handler, openai_error), methods=[method])
            for prefix in PREFIXES
            for method, path, handler in handlers
        ]

    async def create(self, request: Request) -> Response:
        body = await read_body(request)
        model = body.get("model")
        if not isinstance(model, str) or self._service.directory.find(model) is None:
            what = f"Model {model} is not available for fine-tuning or does not exist."
            raise Declined("invalid", what)
        ordered = {
            "model": model,
            "training_file": self._file(body, "training_file"),
            "validation_file": self._file(body, "validation_file") if body.get("validation_file") else None,
            "hyperparameters": _hyperparameters(body),
            "seed": read_seed(body) or 0,
            "metadata": read_metadata(body),
            "method": body.get("method"),
            "_suffix": _suffix(body),
        }
        return JSONResponse(public_fields(self._tunings.create(ordered)))

    async def jobs(self, request: Request) -> Response:
        self._tunings.attend()
        return JSONResponse(build_page(self._store.newest_first("tunings"), request))

    async def job(self, request: Request) -> Response:
        return JSONResponse(public_fields(self._job(request)))

    async def cancel(self, request: Request) -> Response:
        job = self._job(request)
        if job["status"] in ENDED:
            raise Declined("invalid", f"Job has already completed with status '{job['status']}'.")
        self._tunings.cancel(job)
        return JSONResponse(public_fields(job))

    async def events(self, request: Request) -> Response:
        return JSONResponse(build_page(self._tunings.events(self._job(request)), request))

    async def checkpoints(self, request: Request) -> Response:
        return JSONResponse(build_page(self._tunings.checkpoints(self._job(request)), request))

    def _job(self, request: Request) -> Document:
        self._tunings.attend()
        wanted = request.path_params["id"]
        found = self._store.find("tunings", wanted)
        if found is None:
            raise Declined("missing", f"Could not find fine tune: {wanted}")
        return found

    def _file(self, body: Mapping[str, Any], name: str) -> str:
        file_id = str(body.get(name))
        found = self._store.find("files", file_id)
        if found is None:
            raise Declined("invalid", f"invalid {name}: {file_id}")
        if found["purpose"] != "fine-tune":
            what = f"File '{file_id}' has purpose '{found['purpose']}', and 'fine-tune' is needed."
            raise Declined("invalid", what)
        return file_id


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
