"""Fine-tuning at OpenAI and Azure through their SDK; each call sends one request once."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial
from typing import Any

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.api import RequestRejected
from biasgrid.tasks.connectors.batch.job_api import PAGE, Document
from biasgrid.tasks.connectors.batch.openai_batches import JOB, NO_REASON, OpenAiJobs
from biasgrid.tasks.connectors.client.error_mapping import redact
from biasgrid.tasks.connectors.providers.chat import check_address
from biasgrid.tasks.connectors.side_fields import read_count, read_label, read_object

ENDED = ("succeeded", "failed", "cancelled", "canceled")
"""States in which a job has ended."""
IMPORTING = ("pending", "running")
"""States of a file that cannot be used yet."""


@dataclass(frozen=True, slots=True)
class Hyperparameters:
    """Hyperparameters of a job; None leaves the choice to the provider."""

    n_epochs: int
    batch_size: int | None = None
    learning_rate_multiplier: float | None = None

    @property
    def chosen(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True, slots=True)
class TuningRequest:
    """An ordered job; files are given by the provider's ids."""

    train: str
    validation: str
    hyperparameters: Hyperparameters
    seed: int
    suffix: str
    job_id: str


@dataclass(frozen=True, slots=True)
class TuningJob:
    """A fine-tuning job as the provider describes it."""

    id: str
    state: str
    files: tuple[str, ...]
    """Ids of the training and validation files."""
    model: str | None = None
    """The tuned model."""
    trained_tokens: int | None = None
    error: str | None = None

    @property
    def ended(self) -> bool:
        return self.state in ENDED


def check_tunable(target: Target) -> None:
    """Raises UserError if the target's provider has no supported fine-tuning."""
    if not target.tunes:
        what = f"`{target.model}` cannot be fine-tuned: of its provider we know no API for that"
        remedy = "name a model of a provider with `tunes: true` in models.yaml, or tune one here with `--local`"
        raise UserError(Problem(what, "models.yaml", remedy))
    check_address(target)


def connect(target: Target, key: str | None) -> TuningApi:
    """Fine-tuning API of a target; opens no connection. Raises as `check_tunable`."""
    check_tunable(target)
    return TuningApi(target, key)


class TuningApi(OpenAiJobs):
    """The fine-tuning jobs of one model."""

    purpose = "fine-tune"

    def __init__(self, target: Target, key: str | None) -> None:
        super().__init__(target, key)
        self._name, self._is_azure = target.name, target.connector == "azure"

    async def is_ready(self, file_id: str) -> bool:
        """Whether a file can be used now. Raises RequestRejected if it never can."""
        file = await self._call(lambda: self._client.files.retrieve(file_id))
        state = read_label(file.get("status"))
        if state == "error":
            why = read_label(file.get("status_details")) or NO_REASON
            raise self._faults.reject(f"the file {file_id} was refused: {why}")
        return state not in IMPORTING

    async def create(self, wanted: TuningRequest) -> TuningJob:
        """Creates a job, named in its metadata if the provider accepts any and always by its training file."""
        jobs, chosen = self._client.fine_tuning.jobs, {"hyperparameters": wanted.hyperparameters.chosen}
        more: dict[str, Any] = chosen  # older api-versions of Azure accept them only here, and no metadata
        if not self._is_azure:
            method = {"type": "supervised", "supervised": chosen}
            more = {"method": method, "metadata": {JOB: wanted.job_id}}
        created = await self._call(
            lambda: jobs.create(
                model=self._name,
                training_file=wanted.train,
                validation_file=wanted.validation,
                seed=wanted.seed,
                suffix=wanted.suffix,
                **more,
            )
        )
        return self._read(created)

    async def retrieve(self, tuning_id: str) -> TuningJob:
        return self._read(await self._call(lambda: self._client.fine_tuning.jobs.retrieve(tuning_id)))

    async def find(self, job_id: str, train: str, since: datetime) -> TuningJob | None:
        """The job created for one of ours, or None."""

        def is_ours(job: Document) -> bool:
            return job.get("training_file") == train or read_object(job.get("metadata")).get(JOB) == job_id

        found = await self._find(self._client.fine_tuning.jobs.list, is_ours, since)
        return self._read(found) if found is not None else None

    async def events(self, tuning_id: str) -> list[tuple[str, str]]:
        """Ids and messages of a job's newest events, oldest first."""
        listing = self._client.fine_tuning.jobs.list_events
        page = await self._page(partial(listing, tuning_id, limit=PAGE))
        return [(self._id(event), redact(read_label(event.get("message")) or "")) for event in reversed(page)]

    def unknown(self, tuning_id: str) -> RequestRejected:
        return self._faults.reject(f"the provider knows no fine-tuning job {tuning_id} under this key")

    def _read(self, found: Document) -> TuningJob:
        reason = read_label(read_object(found.get("error")).get("message"))
        files = (read_label(found.get(name)) for name in ("training_file", "validation_file"))
        return TuningJob(
            self._id(found),
            read_label(found.get("status")) or "unknown",
            tuple(filter(None, files)),
            read_label(found.get("fine_tuned_model")),
            read_count(found.get("trained_tokens")),
            redact(reason) if reason else None,
        )
