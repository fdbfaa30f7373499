"""Forgets runs: keeps their rows of the marts, writes a tombstone, then removes prompts and replies.

A kill at any moment leaves a run either whole or forgotten: until its tombstone is there nothing has been removed,
afterwards the next call removes the rest.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.flows.results.report import check_bundle, write_bundle
from biasgrid.tasks.prompt.reuse import earliest_arrival
from biasgrid.warehouse.build.build import build
from biasgrid.warehouse.build.kept_rows import keep_rows
from biasgrid.warehouse.schemas import EVENTS
from biasgrid.warehouse.storage.journal import recover
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.run_lock import RunBusy, RunLock
from biasgrid.warehouse.storage.runs import UNDER_WAY, Run, all_runs, find_run
from biasgrid.warehouse.storage.tombstones import (
    Tombstone,
    files_to_remove,
    find_tombstones,
    folder_of,
    has_replies,
    refuse_forgotten,
    remove_replies,
)

Kept = Literal["marts", "evidence"]
SILENT = timedelta(days=1)
"""Without an event for so long, a run that is recorded as running counts as lost."""


@dataclass(frozen=True, slots=True)
class Size:
    """What is to be removed."""

    files: int
    bytes: int


def runs_to_forget(lake: Lake, run_id: str | None, older_than: str | None) -> list[Run]:
    """The named run, or all that started longer ago. Raises `UserError` for a run that is under way or forgotten;
    of several, these are left out."""
    if run_id is not None:
        found = find_run(lake, run_id)
        refuse_forgotten(lake, found.run_id, "run to forget")
        _refuse_under_way(lake, found)
        return [found]
    begun = earliest_arrival(datetime.now(UTC), older_than)
    forgotten = find_tombstones(lake)
    old = (run for run in all_runs(lake) if run.started_at < begun and run.run_id not in forgotten)
    return [run for run in old if not _is_under_way(lake, run)]


def _refuse_under_way(lake: Lake, run: Run) -> None:
    if _is_under_way(lake, run):
        what = f"run `{run.run_id}` is {run.state}, or was killed less than a day ago"
        remedy = f"wait until it ends, or continue it: `biasgrid resume {run.run_id}`"
        raise UserError(Problem(what, "RUN", remedy))


def _is_under_way(lake: Lake, run: Run) -> bool:
    if run.state not in UNDER_WAY:
        return False
    events = (lake.read(table, run.run_id)["recorded_at"].max() for table in EVENTS)
    return max(event for event in events if isinstance(event, datetime)) > datetime.now(UTC) - SILENT


def measure(lake: Lake, runs: Sequence[Run]) -> Size:
    """The files of prompts and replies of these runs."""
    files = [path for run in runs for path in files_to_remove(lake, run.run_id)]
    return Size(len(files), sum(path.stat().st_size for path in files))


def forget(lake: Lake, runs: Sequence[Run], why: str, kept: Kept) -> list[str]:
    """Forgets runs and returns those that another process began to write meanwhile, which stay. Raises the errors
    of `build`."""
    busy = []
    for run in runs:
        try:
            _bury(lake, run.run_id, why, kept)
        except RunBusy:
            busy.append(run.run_id)
    finish_forgetting(lake)
    return busy


def _bury(lake: Lake, run_id: str, why: str, kept: Kept) -> None:
    with RunLock(lake, run_id):
        recover(lake, run_id)
        build(lake)
        keep_rows(lake, run_id)
        digest = _keep_evidence(lake, run_id) if kept == "evidence" else None
        Tombstone.of(lake, run_id, why, digest).write(lake)


def _keep_evidence(lake: Lake, run_id: str) -> str | None:
    """Stores the bundle of a run and returns its digest."""
    with TemporaryDirectory(prefix="biasgrid-evidence-") as folder:
        (bundle,) = write_bundle(lake, run_id, Path(folder))
        with lake.landing(folder_of(lake, run_id) / bundle.name) as partial:
            shutil.copyfile(bundle, partial)
        return check_bundle(bundle).digest


def finish_forgetting(lake: Lake) -> int:
    """Builds a warehouse that reads no file of forgotten runs, then removes these; the number of runs with any."""
    left = [run_id for run_id in find_tombstones(lake) if has_replies(lake, run_id)]
    if left:
        build(lake)
    for run_id in left:
        with suppress(RunBusy), RunLock(lake, run_id):
            remove_replies(lake, run_id)
    return len(left)
