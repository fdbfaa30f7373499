"""What prompting in batches needs of a provider's batch API, and the APIs that there are."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.schema.models import BATCH_CONNECTORS, Target
from biasgrid.tasks.connectors.batch.lines import Batch, BatchLines, SoughtBatch
from biasgrid.tasks.connectors.batch.recorded_job import RecordedJob
from biasgrid.tasks.connectors.registry import loading_sdk


class BatchApi(Protocol):
    """The batches of one model. Calls raise `ConnectorError` and errors of local files."""

    @property
    def lines(self) -> BatchLines: ...

    async def upload(self, path: Path, name: str) -> str | None:
        """Uploads an input file and returns its id; None where a batch is created from the file itself."""

    async def create(self, job: RecordedJob, path: Path) -> Batch:
        """Creates the batch of a job with its uploaded file, or with the requests of `path`."""

    async def retrieve(self, batch_id: str) -> Batch: ...

    async def find(self, sought: SoughtBatch) -> Batch | None:
        """The batch created for a job, or None."""

    async def download(self, file_id: str, path: Path, requests: int) -> None:
        """Downloads a provider's file to `path`. Raises OutputTooLong if it has more than the replies to so many
        requests, StorageTrouble if it cannot be written."""

    async def delete(self, file_id: str) -> None: ...

    async def close(self) -> None: ...


def connect(target: Target, key: str | None) -> BatchApi:
    """Batch API of a target; opens no connection. Raises UserError if the target has no supported batch API."""
    if target.batch is None or target.connector not in BATCH_CONNECTORS:
        what = f"`{target.model}` has no batch API that can be used: its connector is `{target.connector}`"
        raise UserError(Problem(what, "models.yaml", "take `batch` from its provider, or leave `--batch` out"))
    with loading_sdk(target.connector):
        module = import_module(f"{__package__}.{target.connector}_batches")
    return cast(BatchApi, module.connect(target, key))
