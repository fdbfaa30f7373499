"""Checks every file of a data directory, and restores what can be made again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import duckdb

from biasgrid.catalogs.errors import Problem
from biasgrid.warehouse.build.build import build
from biasgrid.warehouse.build.sql_quoting import literal
from biasgrid.warehouse.schemas import TABLES
from biasgrid.warehouse.storage.compaction import drop_signed, sign_run
from biasgrid.warehouse.storage.errors import LakeDamaged
from biasgrid.warehouse.storage.journal import cell_of, find_damaged_lines, recover
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.manifest import FILE, MANIFESTS, Manifest, key_of
from biasgrid.warehouse.storage.pack_file import is_pack, list_parts, visible_files
from biasgrid.warehouse.storage.run_lock import RunBusy, RunLock
from biasgrid.warehouse.storage.tombstones import FOLDER
from biasgrid.warehouse.storage.verification import check_file, find_damage, known_contents

ASIDE = "damaged"
"""The folder below a lake's root for damaged files whose rows were restored from journals."""


@dataclass(slots=True)
class Verified:
    """What a check of a data directory found."""

    files: int = 0
    bytes: int = 0
    restored: list[str] = field(default_factory=list)
    damage: list[Problem] = field(default_factory=list)


def verify_lake(lake: Lake) -> Verified:
    """Checks all files, and restores manifests, rows that journals still have, and the warehouse."""
    found = Verified()
    found.restored += [*_restore_manifests(lake), *_restore_rows(lake)]
    with suppress(LakeDamaged):  # which is found below
        if rescued := recover(lake):
            found.restored.append(f"{rescued:,} replies from journals")
    files = _list_all(lake)
    found.files, found.bytes = len(files), sum(path.stat().st_size for path in files)
    found.damage += [*find_damage(lake, files), *find_damaged_lines(lake)]
    if not found.damage:
        found.restored += _restore_warehouse(lake)
    return found


def _list_all(lake: Lake) -> list[Path]:
    """Also files whose rows no longer count: a list of those that do may need the metadata of a damaged one."""
    lake.bring(lake.root / "lake")
    folders = (folder for table in TABLES for folder in (lake.root / "lake" / table).glob("run_id=*"))
    kept = sorted((lake.root / "lake" / FOLDER).glob("run_id=*/[!.]*"))
    return [*(path for folder in folders for path in visible_files(folder)), *kept]


def _restore_manifests(lake: Lake) -> Iterator[str]:
    lake.bring(lake.root / "lake" / MANIFESTS)
    for folder in sorted((lake.root / "lake" / MANIFESTS).glob("run_id=*")):
        run_id = folder.name.removeprefix("run_id=")
        try:
            Manifest.read(folder)
        except LakeDamaged:
            with suppress(RunBusy, LakeDamaged), RunLock(lake, run_id):
                lake.remove(folder / FILE)
                lake.change_manifest(run_id, partial(_with_retired, lake, run_id))
                sign_run(lake, run_id)
                yield f"the manifest of run `{run_id}`, from its files"


def _with_retired(lake: Lake, run_id: str, before: Manifest) -> Manifest:
    """A compacted file no longer counts if files of its parts were written later."""
    retired = set()
    for table in TABLES:
        found = {path.stem: path for path in visible_files(lake.folder(table, run_id))}
        for pack in filter(is_pack, found.values()):
            parts = [found[name] for name, _ in list_parts(pack) if name in found]
            if any(path.stat().st_mtime_ns > pack.stat().st_mtime_ns for path in parts):
                retired.add(key_of(pack))
    return Manifest(before.files, frozenset(retired))


def _restore_rows(lake: Lake) -> Iterator[str]:
    """Moves damaged files of replies aside if their cell's journal is still there, which then lands again."""
    for folder in sorted((lake.root / "journal").glob("run_id=*")):
        run_id = folder.name.removeprefix("run_id=")
        cells = {cell_of(journal) for journal in folder.glob("*.jsonl")}
        own = [path for path in visible_files(lake.folder("responses", run_id)) if _cell(path) in cells]
        with suppress(RunBusy), RunLock(lake, run_id):
            known = known_contents(lake, run_id)
            for path in own:
                if check_file(lake, path, known.get(key_of(path), ())):
                    aside = lake.root / ASIDE / path.relative_to(lake.root)
                    aside.parent.mkdir(parents=True, exist_ok=True)
                    lake.change_manifest(run_id, partial(drop_signed, frozenset([key_of(path)])))
                    path.rename(aside)
                    lake.remove(path)
                    yield f"the replies of `{path}`, from their journal; the damaged file is now `{aside}`"


def _cell(path: Path) -> str:
    return path.stem.rpartition("-")[0]


def _restore_warehouse(lake: Lake) -> Iterator[str]:
    if lake.has_database() and not _is_readable(lake.database):
        build(lake, full=True)
        yield f"the warehouse `{lake.database}`, from the lake"


def _is_readable(database: Path) -> bool:
    """Reads every block, which has a checksum."""
    try:
        with duckdb.connect() as session:
            session.execute(f"attach {literal(database)} as biasgrid (read_only)")
            tables = "select schema_name, table_name from duckdb_tables() where database_name = 'biasgrid'"
            for names in session.execute(tables).fetchall():
                rows = ".".join(f'"{name}"' for name in ("biasgrid", *names))
                session.execute(f"select bit_xor(hash(rows)) from {rows} as rows").fetchall()  # noqa: S608 - names
    except duckdb.Error:
        return False
    return True
