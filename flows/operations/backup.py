"""Backs up a data directory, also while runs write, and restores it.

```
<backup>/manifest.json                 path, bytes, SHA-256 of each file, and where it was
<backup>/files/<2 digits>/<SHA-256>    its contents
```

Files are named by their contents: a backup into the same directory copies only what is new, and one that is killed
leaves the earlier backup whole, since the manifest is replaced last. What can be built again is left out: the
DuckDB file, pages, locks, cookies of conversations.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import filelock
import orjson
from pydantic import Field, TypeAdapter
from ulid import ULID

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.tasks.report.evidence.manifest import pieces
from biasgrid.warehouse.schemas import TABLES
from biasgrid.warehouse.storage.atomic_file import replace_atomically
from biasgrid.warehouse.storage.errors import storing
from biasgrid.warehouse.storage.journal import SEGMENT
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.objects.mirror import SharedStorage

MANIFEST, FILES, LOCK = "manifest.json", "files", ".lock"
FORMAT = 1
STORED = ("journal", "lake", "tuned")
"""Folders of a data directory that cannot be made again."""
SIGNED = "manifests"
"""Folder of the lake that is listed first: what it names has then landed."""
PASSES = 10


@dataclass(frozen=True, slots=True)
class Copied:
    """A file of a backup; `path` is that below the data directory."""

    path: str
    bytes: int
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    """Also the name of its contents."""
    written_ns: int


@dataclass(frozen=True, slots=True)
class Backup:
    """A finished backup of the data at `of`."""

    of: str
    made_at: str
    files: tuple[Copied, ...]
    new: int = 0
    """Files that were copied for it."""

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)


class _Moved(Exception):
    """A file has been replaced or removed since it was listed."""


def back_up(lake: Lake, folder: Path) -> Backup:
    """Adds what is new to the backup in a folder, and removes what the lake no longer has. Raises `UserError`,
    `StorageTrouble`."""
    _refuse_folder(lake, folder)
    _make(folder)
    with storing(folder), _locked(folder / LOCK, "DIR"):
        earlier = _read_manifest(folder)
        _refuse_other(lake, folder, earlier)
        copied = _copy_all(lake, folder, {file.path: file for file in earlier.files} if earlier else {})
        known = {file.sha256 for file in earlier.files} if earlier else set()
        new = sum(file.sha256 not in known for file in copied)
        made = Backup(lake.named, datetime.now(UTC).isoformat(), tuple(copied), new)
        with replace_atomically(folder / MANIFEST) as partial:
            partial.write_bytes(orjson.dumps({"format": FORMAT, **asdict(made)}))
        _remove_others(folder, {file.sha256 for file in copied})
    return made


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"`{folder}` cannot be written: {error.strerror}"
        raise UserError(Problem(what, "DIR", "name a directory that you may write to")) from error


def _copy_all(lake: Lake, folder: Path, earlier: Mapping[str, Copied]) -> list[Copied]:
    for _ in range(PASSES):
        try:
            return _copy_once(lake, folder, earlier)
        except _Moved:
            continue
    what = f"the files in `{lake.named}` change faster than they can be copied"
    raise UserError(Problem(what, "", "try again when fewer runs end at the same time"))


def _copy_once(lake: Lake, folder: Path, earlier: Mapping[str, Copied]) -> list[Copied]:
    """Journals first: one that becomes Parquet meanwhile is in both, and its replies count once. Logs last: they
    have a line of each file."""
    copied = [_store_lines(folder, name, text) for name, text in _journals(lake) if text]
    listed = {path: stat for path in _list_lake(lake) if (stat := _stat(path))}
    copied += [_copy(lake, folder, path, stat, earlier) for path, stat in listed.items()]
    copied += [_store_lines(folder, name, text) for name, text in _whole_lines(lake, _logs(lake)) if text]
    signed = (path for path in listed if path.relative_to(lake.root).parts[1] == SIGNED)
    if any(_stat(path) != listed[path] for path in signed):
        raise _Moved
    return copied


def _store_lines(folder: Path, name: str, text: bytes) -> Copied:
    return Copied(name, len(text), _store(folder, [text]), 0)


def _journals(lake: Lake) -> Iterator[tuple[str, bytes]]:
    """Names and whole lines of journals; on shared storage, those of all machines."""
    if lake.shared:
        for name in sorted(lake.shared.bucket.list_objects("journal")):
            run, _, segment = name.removeprefix("journal/").partition("/")
            yield f"journal/{run}/{segment.replace('/', SEGMENT)}", lake.shared.bucket.read(name)
        return
    yield from _whole_lines(lake, (lake.root / "journal").glob("run_id=*/*.jsonl"))


def _logs(lake: Lake) -> Iterator[Path]:
    return (lake.root / "lake" / SIGNED).glob("run_id=*/*.jsonl")


def _whole_lines(lake: Lake, paths: Iterable[Path]) -> Iterator[tuple[str, bytes]]:
    for path in sorted(paths):
        with suppress(FileNotFoundError):
            text = path.read_bytes()
            yield path.relative_to(lake.root).as_posix(), text[: text.rfind(b"\n") + 1]


def _list_lake(lake: Lake) -> Iterator[Path]:
    """Verdicts before replies and replies before prompts: what lands meanwhile is then left out consistently."""
    if lake.shared:
        lake.bring(lake.root / "lake")
    tables = [f"lake/{table}" for table in (SIGNED, *reversed(TABLES))]
    seen: set[Path] = set()
    for place in (*tables, "lake", "tuned"):
        found = (path for path in sorted((lake.root / place).rglob("*")) if path not in seen)
        own = [path for path in found if path.is_file() and not _is_left_out(path, lake.root)]
        seen.update(own)
        yield from own


def _is_left_out(path: Path, root: Path) -> bool:
    """Temporary files, and logs, which are copied as journals are."""
    return path.suffix == ".jsonl" or any(part.startswith(".") for part in path.relative_to(root).parts)


Stat = tuple[int, int]
"""Size, and time of the last change in ns."""


def _stat(path: Path) -> Stat | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_size, found.st_mtime_ns


def _copy(lake: Lake, folder: Path, path: Path, stat: Stat, earlier: Mapping[str, Copied]) -> Copied:
    name = path.relative_to(lake.root).as_posix()
    known = earlier.get(name)
    if known and (known.bytes, known.written_ns) == stat and _place(folder, known.sha256).exists():
        return known
    try:
        with path.open("rb") as content:
            digest = _store(folder, pieces(content))
    except FileNotFoundError:
        raise _Moved from None
    if _stat(path) != stat:
        raise _Moved
    return Copied(name, stat[0], digest, stat[1])


def _place(folder: Path, digest: str) -> Path:
    return folder / FILES / digest[:2] / digest


def _store(folder: Path, pieces: Iterable[bytes]) -> str:
    """Stores contents under their SHA-256, and returns it."""
    digest = hashlib.sha256()
    (folder / FILES).mkdir(exist_ok=True)
    partial = folder / FILES / f".{ULID()}.partial"
    try:
        with partial.open("wb") as stored:
            for piece in pieces:
                digest.update(piece)
                stored.write(piece)
            stored.flush()
            os.fsync(stored.fileno())
        place = _place(folder, digest.hexdigest())
        place.parent.mkdir(exist_ok=True)
        partial.replace(place)
    finally:
        partial.unlink(missing_ok=True)
    return digest.hexdigest()


def _remove_others(folder: Path, kept: set[str]) -> None:
    for path in (folder / FILES).rglob("*"):
        if path.is_file() and path.name not in kept:
            path.unlink()


@contextmanager
def _locked(path: Path, option: str) -> Iterator[None]:
    try:
        with filelock.FileLock(path, timeout=0):
            yield
    except filelock.Timeout:
        what = f"another process writes `{path.parent}`"
        raise UserError(Problem(what, option, "wait until it ends, or stop it")) from None


def _refuse_folder(lake: Lake, folder: Path) -> None:
    if folder.resolve().is_relative_to(lake.root.resolve()):
        what = f"`{folder}` is in the data directory itself"
        raise UserError(Problem(what, "DIR", "name one elsewhere, best on another disk"))
    if folder.exists() and not folder.is_dir():
        raise UserError(Problem(f"`{folder}` is not a directory", "DIR", "name a directory"))
    others = {path.name for path in folder.glob("*")} - {MANIFEST, FILES, LOCK} if folder.exists() else set()
    if others:
        what = f"`{folder}` has other files than a backup, such as `{min(others)}`"
        raise UserError(Problem(what, "DIR", "name a new directory, or that of an earlier backup"))


def _refuse_other(lake: Lake, folder: Path, earlier: Backup | None) -> None:
    if earlier and earlier.of != lake.named:
        what = f"`{folder}` has a backup of `{earlier.of}`, not of `{lake.named}`"
        raise UserError(Problem(what, "DIR", "name another directory for this one"))


def _read_manifest(folder: Path) -> Backup | None:
    place = folder / MANIFEST
    try:
        read = orjson.loads(place.read_bytes())
        if read["format"] != FORMAT:
            what = f"the backup in `{folder}` is of a newer biasgrid"
            raise UserError(Problem(what, "DIR", "use that one, or a newer"))
        backup = TypeAdapter(Backup).validate_python(read)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, KeyError, TypeError) as error:
        what = f"the backup's manifest is damaged: {str(error).partition(chr(10))[0]}"
        raise UserError(Problem(what, str(place), "restore it from a copy of the backup")) from None
    outside = [path for path in (file.path for file in backup.files) if not _is_below(path)]
    if outside:
        raise UserError(Problem(f"`{outside[0]}` is no file of a data directory", str(place)))
    return backup


def _is_below(path: str) -> bool:
    """Whether a path of a manifest leads into a folder that backups hold."""
    parts = Path(path).parts
    return len(parts) > 1 and parts[0] in STORED and ".." not in parts


REPLACED, STAGING, COMPLETE = "replaced-", ".restoring", ".complete"
DERIVED = ("biasgrid.duckdb", "expectations")


def restore(folder: Path, lake: Lake, *, force: bool = False) -> Backup:
    """Puts the files of a backup into the data directory, after all of them have been verified. Raises `UserError`
    if a file is damaged or, unless `force`, if there is data already; with `force` this is moved to a folder
    `replaced-…`. A restore that was killed is finished by the next one, of shared storage on the same machine."""
    backup = _find_backup(folder)
    staging = lake.root / STAGING
    _refuse_data(lake, force=force, goes_on=_is_of(staging, folder))
    with storing(lake.root), ExitStack() as locks:
        lake.locks.mkdir(parents=True, exist_ok=True)
        for path in (lake.locks / "warehouse.lock", *lake.locks.glob("run-*.lock")):
            locks.enter_context(_locked(path, "--data"))
        if not _is_of(staging, folder):
            shutil.rmtree(staging, ignore_errors=True)
            staging.mkdir()
            shutil.copyfile(folder / MANIFEST, staging / MANIFEST)
        if not (staging / COMPLETE).exists():
            _stage(folder, staging, backup)
        if lake.shared:
            _publish(lake.shared, staging)
        _move_in(lake.root, staging, {file.path.partition("/")[0] for file in backup.files})
    return backup


def _publish(shared: SharedStorage, staging: Path) -> None:
    """Uploads the lake's staged files, manifests last. Logs stay behind: there a file can have no lines added."""
    found = [path for path in sorted((staging / "lake").rglob("*")) if path.is_file() and path.suffix != ".jsonl"]
    for path in sorted(found, key=lambda path: SIGNED in path.parts):
        shared.publish(path, shared.root / path.relative_to(staging))


def _find_backup(folder: Path) -> Backup:
    backup = _read_manifest(folder)
    if backup is None:
        what = f"there is no backup in `{folder}`"
        raise UserError(Problem(what, "DIR", "name a directory that `biasgrid backup` has finished"))
    return backup


def _is_of(staging: Path, folder: Path) -> bool:
    """Whether an interrupted restore was of this backup."""
    return (staging / MANIFEST).exists() and (staging / MANIFEST).read_bytes() == (folder / MANIFEST).read_bytes()


def _refuse_data(lake: Lake, *, force: bool, goes_on: bool) -> None:
    present = [name for name in STORED if any((lake.root / name).glob("*"))]
    remedy = "name an empty directory, or `--force`: what is there is then moved to a folder `replaced-…` in it"
    if lake.shared:  # where nothing can be moved at once
        present = [name for name in STORED if lake.shared.bucket.list_objects(name)]
        force, remedy = False, "name an empty prefix"
    if present and not force and not goes_on:
        raise UserError(Problem(f"`{lake.named}` has data: `{present[0]}`", "--data", remedy))


def _stage(folder: Path, staging: Path, backup: Backup) -> None:
    damaged = [file for file in backup.files if not _is_staged(staging, file) and not _take(folder, staging, file)]
    if damaged:
        lost = "is damaged or missing in the backup"
        raise UserError(
            [Problem(f"`{file.path}` {lost}", str(_place(folder, file.sha256)), "") for file in damaged]
        )
    (staging / COMPLETE).touch()


def _is_staged(staging: Path, file: Copied) -> bool:
    place = staging / file.path
    return place.exists() and place.stat().st_size == file.bytes


def _take(folder: Path, staging: Path, file: Copied) -> bool:
    """Copies a file, if it has the contents that were stored."""
    place, digest = staging / file.path, hashlib.sha256()
    stored = _place(folder, file.sha256)
    # its size is compared first: a file of any size may have been put in its place
    if stored.is_symlink() or not stored.is_file() or stored.stat().st_size != file.bytes:
        return False
    with replace_atomically(place) as partial:
        with stored.open("rb") as content, partial.open("wb") as copy:
            for piece in pieces(content):
                digest.update(piece)
                copy.write(piece)
        if file.written_ns:  # the next backup then copies only what is new
            os.utime(partial, ns=(file.written_ns, file.written_ns))
    if digest.hexdigest() == file.sha256:
        return True
    place.unlink()
    return False


def _move_in(root: Path, staging: Path, restored: Collection[str]) -> None:
    """Gives the staged folders their names; what has these names is moved aside. May be repeated."""
    aside = root / f"{REPLACED}{ULID()}"
    for name in (*STORED, *DERIVED):
        if (staging / name).exists():
            _move_aside(root / name, aside)
            (staging / name).rename(root / name)
        elif name not in restored:
            _move_aside(root / name, aside)
    shutil.rmtree(staging)


def _move_aside(path: Path, aside: Path) -> None:
    if path.exists():
        aside.mkdir(exist_ok=True)
        path.rename(aside / path.name)
