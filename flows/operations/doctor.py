"""Checks this machine's setup offline and suggests remedies; never shows a key."""

from __future__ import annotations

import os
import platform
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from biasgrid.catalogs.errors import UserError, nearest
from biasgrid.catalogs.lint.check import lint
from biasgrid.catalogs.loading.catalog import OVERLAY, Catalog
from biasgrid.catalogs.scenario.scenario import JUDGE
from biasgrid.flows.forecast.confirmation import THRESHOLD
from biasgrid.flows.operations.environment import DATA, data_place
from biasgrid.flows.operations.reachability import Check, keys, prefect_server
from biasgrid.flows.telemetry.log_lines import LOG
from biasgrid.flows.telemetry.observer import COUNTERS
from biasgrid.tasks.connectors.client.retry import POLL
from biasgrid.warehouse.storage.objects.mirror import CACHE

if TYPE_CHECKING:
    from biasgrid.warehouse.storage.lake import Lake
    from biasgrid.warehouse.storage.objects.mirror import SharedStorage

PROJECT = "biasgrid"
SHOWN = ("prefect", "duckdb", "polars", "openai", "huggingface-hub", "replicate")
"""Packages whose versions are always shown."""
LITTLE_SPACE = 2**30


def diagnose(data: str | Path | None = None) -> list[Check]:
    """All checks, in the order in which problems should be fixed."""
    lake, storage = check_storage(data)
    catalog, catalogs = check_catalogs()
    server = prefect_server()
    return [
        check_python(),
        check_packages(),
        *storage,
        *(check_landed(lake) if lake else ()),
        *catalogs,
        *(keys(catalog, use_blocks=server.state == "ok") if catalog else ()),
        server,
        *check_settings(os.environ, catalog),
    ]


def is_broken(checks: Iterable[Check]) -> bool:
    return any(check.state == "broken" for check in checks)


def check_python() -> Check:
    from packaging.specifiers import SpecifierSet

    needed, have = metadata.metadata(PROJECT)["Requires-Python"], platform.python_version()
    if SpecifierSet(needed).contains(have, prereleases=True):
        return Check("Python", "ok", have)
    return Check("Python", "broken", f"{have}, and {needed} is needed", "make PYTHON=python3.11 env")


def check_packages() -> Check:
    """Whether installed packages match the project's metadata."""
    wrong = [misfit for misfit in map(_misfit, metadata.requires(PROJECT) or ()) if misfit]
    if wrong:
        return Check("packages", "broken", "; ".join(wrong), "install from the lock: make env")
    versions = [f"{name} {metadata.version(name)}" for name in (PROJECT, *SHOWN)]
    return Check("packages", "ok", ", ".join(versions))


def _misfit(required: str) -> str | None:
    from packaging.requirements import Requirement

    wanted = Requirement(required)
    if wanted.marker is not None and not wanted.marker.evaluate({"extra": ""}):
        return None
    try:
        have = metadata.version(wanted.name)
    except metadata.PackageNotFoundError:
        return f"{wanted.name} is not installed"
    fits = wanted.specifier.contains(have, prereleases=True)
    return None if fits else f"{wanted.name} is {have}, not {wanted.specifier}"


def check_storage(data: str | Path | None) -> tuple[Lake | None, list[Check]]:
    """The lake, or None if it cannot be read, and checks of its storage."""
    from biasgrid.warehouse.storage.lake import Lake

    try:
        lake = Lake.at(data_place(data))
        checks = check_data(lake.root)
        return lake, [*checks, *(check_bucket(lake.shared) if lake.shared else ())]
    except UserError as broken:
        return None, [Check("data", "broken", wrong.what, wrong.remedy) for wrong in broken.mistakes]


def check_bucket(shared: SharedStorage) -> list[Check]:
    """Whether a bucket can be listed, written and read, leaving no file. Raises `UserError` for the former."""
    shared.bucket.names()
    try:
        shared.bucket.refuse_unwritable()
    except UserError as refused:
        wrong = refused.mistakes[0]
        remedy = f"{wrong.remedy}; to look at what landed, reading is enough"
        return [Check("storage", "broken", wrong.what, remedy)]
    return [Check("storage", "ok", f"{shared.address} can be listed, read and written")]


def check_landed(lake: Lake) -> list[Check]:
    """Checks of the warehouse and the runs that can be read."""
    from biasgrid.warehouse.storage.errors import StorageTrouble

    try:
        return [check_warehouse(lake), *check_runs(lake)]
    except StorageTrouble as trouble:
        wrong = trouble.mistakes[0]
        return [Check("storage", "broken", wrong.what, wrong.remedy)]


def check_data(root: Path) -> list[Check]:
    """Checks whether a lake can be written at `root`, and free space; leaves no file."""
    held = next(folder for folder in (root, *root.parents) if folder.exists())
    try:
        with tempfile.TemporaryFile(dir=held):
            pass
    except OSError as error:
        what = f"{root} cannot be written: {error.strerror}"
        return [Check("data", "broken", what, f"name another directory with --data or {DATA}")]
    free = shutil.disk_usage(held).free
    place = str(root) if held == root else f"{root}, which the first run makes"
    space = f"{free / 2**30:,.1f} GiB free"
    if free < LITTLE_SPACE:
        return [Check("data", "note", f"{place}; only {space}", "make room: a full disk ends a run")]
    return [Check("data", "ok", f"{place}; {space}")]


def check_warehouse(lake: Lake) -> Check:
    from biasgrid.warehouse.build.build import query

    if not lake.has_database():
        return Check("warehouse", "ok", "none yet: a run builds it")
    try:
        marts = query(lake, "select table_name from information_schema.tables where table_schema = 'marts'")
    except UserError as unreadable:
        wrong = unreadable.mistakes[0]
        return Check("warehouse", "broken", wrong.what, wrong.remedy)
    return Check("warehouse", "ok", f"{lake.database.name}, {marts.height} marts")


def check_runs(lake: Lake) -> list[Check]:
    """Checks for unfinished runs, and journals not yet converted to Parquet."""
    import polars as pl

    from biasgrid.warehouse.storage.run_lock import current_state
    from biasgrid.warehouse.storage.runs import UNDER_WAY, UNFINISHED, all_runs

    try:
        started = [run for run in all_runs(lake) if run.state in UNFINISHED and not run.is_imported]
        states = [(run, current_state(lake, run)) for run in started]
    except (pl.exceptions.PolarsError, OSError) as error:
        what = f"the lake cannot be read: {str(error).splitlines()[0]}"
        return [Check("runs", "broken", what, "restore the file, or move it out of the lake")]
    journals = len(list((lake.root / "journal").glob("run_id=*/*.jsonl")))
    unfinished = [(run, state) for run, state in states if state not in UNDER_WAY]
    found = []
    if len(states) > len(unfinished):
        found.append(Check("runs", "ok", f"{len(states) - len(unfinished)} under way"))
    if unfinished:
        newest, state = unfinished[-1]
        what = f"{len(unfinished)} not finished; the newest is {newest.run_id} ({state})"
        found.append(Check("runs", "note", what, f"resume with: biasgrid resume {newest.run_id}"))
    if journals:
        what = f"{journals} left over, or of runs under way; nothing in them is lost"
        found.append(Check("journals", "note", what, "biasgrid resume lands them"))
    return found or [Check("runs", "ok", "none unfinished")]


def check_catalogs() -> tuple[Catalog | None, list[Check]]:
    try:
        found = lint()
    except UserError as absent:
        return None, [Check("catalogs", "broken", str(wrong.what), wrong.remedy) for wrong in absent.mistakes]
    if found.errors:
        return found.catalog, [Check("catalogs", "broken", found.summary, "see them: biasgrid catalog check")]
    return found.catalog, [Check("catalogs", "ok", found.summary)]


def check_settings(environment: Mapping[str, str], catalog: Catalog | None) -> list[Check]:
    """`BIASGRID_*` variables in force, without values that may be secret."""
    shown = (DATA, CACHE, OVERLAY, JUDGE, THRESHOLD, POLL, "BIASGRID_LEASES", "BIASGRID_REVIEWER", LOG, COUNTERS)
    providers = catalog.models.providers.values() if catalog else ()
    endpoints = catalog.endpoints.values() if catalog else ()
    sent = [name for endpoint in endpoints for name, _ in endpoint.variables()]
    named = [*sent, *(name for provider in providers for name in provider.key_env)]
    keys = {"BIASGRID_PING_URL", *(name for name in named if name.startswith("BIASGRID_"))}
    found = []
    for name in sorted(name for name in environment if name.startswith("BIASGRID_")):
        if name in shown and "@" not in environment[name]:
            found.append(Check("setting", "ok", f"{name}={environment[name]}"))
        elif name in {*shown, *keys}:
            found.append(Check("setting", "ok", f"{name} is set"))
        else:
            remedy = nearest(name, {*shown, *keys})
            found.append(Check("setting", "note", f"{name} is set, and nothing reads it", remedy))
    return found
