"""Life cycle of a fine-tuning job, whose state follows from its age: validated, queued, run, served."""

from __future__ import annotations

import json
import math
import time
import uuid
from collections.abc import Iterator
from typing import Any

from biasgrid.tasks.connectors.simulated.fault_injection import uniform
from biasgrid.tasks.connectors.simulated.server.service import Declined, Service
from biasgrid.tasks.connectors.simulated.server.store import Document, JobStore
from biasgrid.tasks.connectors.usage import count_text

FEWEST = 10
ROLES = ("system", "user", "assistant", "tool", "developer")
QUOTED = 3
"""Number of a file's errors that are quoted."""


def read_examples(content: bytes, fewest: int = FEWEST) -> tuple[int, list[str]]:
    """The tokens of a training file with at least `fewest` examples, and its first errors."""
    lines = content.splitlines()
    flaws = [f"line {number}: {flaw}" for number, line in enumerate(lines, 1) for flaw in _find_flaws(line)]
    if len(lines) < fewest:
        flaws.append(f"Training file has {len(lines)} example(s), but must have at least {fewest} examples")
    messages = () if flaws else (message for line in lines for message in json.loads(line)["messages"])
    return sum(count_text(message["content"]) for message in messages), flaws[:QUOTED]


def _find_flaws(line: bytes) -> Iterator[str]:
    try:
        example = json.loads(line)
    except ValueError:
        yield "Expected file to have JSONL format, where every line is a valid JSON dictionary"
        return
    messages = example.get("messages") if isinstance(example, dict) else None
    if not isinstance(messages, list) or not messages:
        yield "Missing key: messages"
    elif not all(
        isinstance(one, dict) and one.get("role") in ROLES and isinstance(one.get("content"), str)
        for one in messages
    ):
        yield "a message has no role and content that are known"
    elif messages[-1]["role"] != "assistant":
        yield "the last message must be from the assistant"


ENDED = ("succeeded", "failed", "cancelled")
VALIDATED, DEQUEUED = 0.2, 0.4
"""End of each phase, as a share of the job's time."""
EPOCHS = 3
"""Epochs if the server chooses."""
FIRST_LOSS = 2.0
FAILED = {"code": "server_error", "message": "The job failed due to an internal error.", "param": None}


class TuningJobs:
    """All fine-tuning jobs of a server."""

    def __init__(self, service: Service, store: JobStore) -> None:
        self._service, self._store = service, store
        self.attend()

    def create(self, ordered: Document) -> Document:
        """Creates a job; `ordered` has the fields that its creator chooses."""
        began, number = time.time(), len(self._store.newest_first("tunings"))
        epochs = ordered["hyperparameters"]["n_epochs"]
        job: Document = {
            "id": f"ftjob-{uuid.uuid4().hex[:24]}",
            "object": "fine_tuning.job",
            "created_at": int(began),
            "status": "validating_files",
            "error": None,
            "fine_tuned_model": None,
            "finished_at": None,
            "estimated_finish": None,
            "organization_id": "biasgrid",
            "result_files": [],
            "trained_tokens": None,
            "integrations": [],
            **ordered,
            "_began": began,
            "_number": number,
            "_epochs": EPOCHS if epochs == "auto" else epochs,
        }
        self._store.save("tunings", job)
        return job

    def attend(self) -> None:
        """Updates every job to its current state."""
        for job in self._store.newest_first("tunings"):
            if job["status"] not in ENDED:
                self._advance(job)
            if job["status"] == "succeeded":
                self._serve(job)

    def cancel(self, job: Document) -> None:
        """Cancels a job. Raises Declined if it has ended."""
        if job["status"] in ENDED:
            raise Declined("invalid", f"Job has already completed with status '{job['status']}'.")
        self._end(job, "cancelled")

    def events(self, job: Document) -> list[Document]:
        """The job's events, newest first."""
        events = list(_list_events(job))
        return [
            {
                "id": f"ftevent-{job['id'].removeprefix('ftjob-')}-{number}",
                "object": "fine_tuning.job.event",
                "created_at": job["created_at"],
                "level": "error" if job["error"] and number == len(events) else "info",
                "message": message,
                "type": "metrics" if data else "message",
                "data": data,
            }
            for number, (message, data) in reversed([*enumerate(events, 1)])
        ]

    def checkpoints(self, job: Document) -> list[Document]:
        """Checkpoints, newest first; one per epoch except the last, which is the model itself."""
        done = job["_epochs"] - 1 if job["status"] == "succeeded" else 0
        return [
            {
                "id": f"ftckpt-{job['id'].removeprefix('ftjob-')}-{epoch}",
                "object": "fine_tuning.job.checkpoint",
                "created_at": job["created_at"],
                "fine_tuning_job_id": job["id"],
                "fine_tuned_model_checkpoint": _checkpoint(job, epoch),
                "step_number": epoch,
                "metrics": {"step": epoch, "train_loss": _loss(epoch)},
            }
            for epoch in range(done, 0, -1)
        ]

    def _advance(self, job: Document) -> None:
        respondent = self._service.respondent(job["model"])
        age = (time.time() - job["_began"]) / (respondent.tuning.seconds or math.inf)
        is_over = respondent.tuning.seconds == 0 or age >= 1
        if not is_over and age < VALIDATED:
            return
        if error := self._find_error(job):
            self._end(job, "failed", error=error)
        elif not is_over:
            job["status"] = "running" if age >= DEQUEUED else "queued"
            self._store.save("tunings", job)
        elif uniform(respondent.id, respondent.seed, "tuning", job["_number"]) < respondent.tuning.fails:
            self._end(job, "failed", error=FAILED)
        else:
            self._complete(job)

    def _complete(self, job: Document) -> None:
        rows = "".join(f"{step},{_loss(step):.4f}\n" for step in range(1, job["_epochs"] + 1))
        metrics = self._store.add_file(f"step,train_loss\n{rows}".encode(), "metrics.csv", "fine-tune-results")
        tokens, _ = read_examples(self._store.content(job["training_file"]))
        suffix, number = job["_suffix"] or "", job["id"].removeprefix("ftjob-")[:8]
        self._end(
            job,
            "succeeded",
            trained_tokens=tokens * job["_epochs"],
            result_files=[metrics["id"]],
            fine_tuned_model=f"ft:{job['model']}:biasgrid:{suffix}:{number}",
        )

    def _serve(self, job: Document) -> None:
        base, directory = self._service.respondent(job["model"]), self._service.directory
        directory.add(job["fine_tuned_model"], base.as_tuned())
        for epoch in range(1, job["_epochs"]):
            directory.add(_checkpoint(job, epoch), base.as_tuned(epoch / job["_epochs"]))

    def _find_error(self, job: Document) -> dict[str, Any] | None:
        """OpenAI's error for an unusable file of the job, or None."""
        for kind, fewest in (("training", FEWEST), ("validation", 1)):
            file_id = job[f"{kind}_file"]
            if file_id is None:
                continue
            try:
                _, flaws = read_examples(self._store.content(file_id), fewest)
            except (KeyError, OSError):
                flaws = ["The file does not exist any more"]
            if flaws:
                message = f"The job failed due to an invalid {kind} file. {'; '.join(flaws)}."
                return {"code": f"invalid_{kind}_file", "message": message, "param": f"{kind}_file"}
        return None

    def _end(self, job: Document, status: str, **result: Any) -> None:
        job.update(result, status=status, finished_at=int(time.time()))
        self._store.save("tunings", job)


def _list_events(job: Document) -> Iterator[tuple[str, Document]]:
    """The messages of a job's events, oldest first."""
    yield f"Created fine-tuning job: {job['id']}", {}
    yield f"Validating training file: {job['training_file']}", {}
    if job["status"] in ("running", "succeeded"):
        yield "Files validated, fine-tuning job started", {}
    if job["status"] == "succeeded":
        for step in range(1, job["_epochs"] + 1):
            loss = _loss(step)
            yield f"Step {step}/{job['_epochs']}: training loss={loss:.2f}", {"step": step, "train_loss": loss}
        yield f"New fine-tuned model created: {job['fine_tuned_model']}", {}
        yield "The job has successfully completed", {}
    elif job["status"] == "failed":
        yield job["error"]["message"], {}
    elif job["status"] == "cancelled":
        yield "Fine-tuning job cancelled", {}


def _loss(step: int) -> float:
    """A loss that each epoch halves."""
    return FIRST_LOSS / float(2**step)


def _checkpoint(job: Document, epoch: int) -> str:
    return f"{job['fine_tuned_model']}:ckpt-step-{epoch}"
