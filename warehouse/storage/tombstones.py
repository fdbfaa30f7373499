"""Tombstones of forgotten runs: who removed a run's prompts and replies, when, why, and what they were.

```
<root>/lake/forgotten/run_id=<id>/tombstone.json
<root>/lake/forgotten/run_id=<id>/<model>.parquet
<root>/lake/forgotten/run_id=<id>/<id>.evidence.zip
```

A run is forgotten from the moment its tombstone is there: no build reads its other files, whether they have been
removed yet or not. The Parquet files hold its rows of every model of one run, as they were last built.
"""

from __future__ import annotations

import getpass
import hashlib
import platform
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import orjson
import pyarrow.parquet as pq

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.warehouse.storage.errors import LakeDamaged
from biasgrid.warehouse.storage.lake import Lake, check_name
from biasgrid.warehouse.storage.manifest import Entry, Manifest, key_of

FOLDER, TOMBSTONE = "forgotten", "tombstone.json"
REMOVED = ("cases", "responses", "verdicts", "assessments", "controls")
"""Tables whose rows are removed. Those of others have neither prompts nor replies and stay, so that the run is
still listed."""


@dataclass(frozen=True, slots=True)
class Tombstone:
    """What is known of a forgotten run."""

    run_id: str
    forgotten_at: datetime
    by: str
    why: str
    removed: tuple[Mapping[str, str | int], ...]
    """Each file: `path` below the root, `bytes`, `rows`, `sha256`."""
    evidence: str | None = None
    """Digest of the evidence bundle that is kept."""

    @classmethod
    def of(cls, lake: Lake, run_id: str, why: str, evidence: str | None = None) -> Tombstone:
        """The tombstone of a run that is to be forgotten now."""
        removed = tuple(_describe(lake, path) for path in files_to_remove(lake, run_id))
        return cls(run_id, datetime.now(UTC), _user(), why, removed, evidence)

    def write(self, lake: Lake) -> None:
        with lake.landing(_path(lake, self.run_id)) as partial:
            partial.write_bytes(orjson.dumps(asdict(self), option=orjson.OPT_INDENT_2))

    def __str__(self) -> str:
        return f"forgotten on {self.forgotten_at:%Y-%m-%d} by {self.by} ({self.why})"


def folder_of(lake: Lake, run_id: str) -> Path:
    """The folder of what is kept of a forgotten run."""
    return lake.root / "lake" / FOLDER / f"run_id={check_name(run_id)}"


def _path(lake: Lake, run_id: str) -> Path:
    return folder_of(lake, run_id) / TOMBSTONE


def find_tombstones(lake: Lake) -> dict[str, Tombstone]:
    """The tombstone of each forgotten run. Raises `LakeDamaged`."""
    lake.bring(lake.root / "lake" / FOLDER)
    paths = sorted((lake.root / "lake" / FOLDER).glob("run_id=*/tombstone.json"))
    return {path.parent.name.removeprefix("run_id="): _read(path) for path in paths}


def _read(path: Path) -> Tombstone:
    try:
        read = orjson.loads(path.read_bytes())
        when = datetime.fromisoformat(read["forgotten_at"])
        return Tombstone(**read | {"forgotten_at": when, "removed": tuple(read["removed"])})
    except (ValueError, KeyError, TypeError) as error:
        run_id = path.parent.name.removeprefix("run_id=")
        what = f"the tombstone of run `{run_id}` does not have the contents that were written"
        raise LakeDamaged(Problem(what, str(path), "restore it from a backup")) from error


def refuse_forgotten(lake: Lake, run_id: str, needs: str) -> None:
    """Raises `UserError` if the run's replies, which `needs` reads, were removed."""
    tombstone = find_tombstones(lake).get(run_id)
    if tombstone is None:
        return
    kept = f"`biasgrid show {run_id}` and `biasgrid sql` have its findings"
    if tombstone.evidence:
        kept += f", and its evidence is in {lake.display_path(folder_of(lake, run_id))}"
    raise UserError(Problem(f"run `{run_id}` was {tombstone}: without its replies there is no {needs}", "", kept))


def files_to_remove(lake: Lake, run_id: str) -> list[Path]:
    """The files with a run's prompts, replies and what was made of them."""
    return [path for table in REMOVED for path in lake.files(table, run_id)]


def remove_replies(lake: Lake, run_id: str) -> None:
    """Removes what is left of a forgotten run's files. The caller holds its `RunLock`."""
    apart = (lake.journal_folder(run_id), lake.root / "sessions" / check_name(run_id))
    for folder in (*(lake.folder(table, run_id) for table in REMOVED), *apart):
        if lake.shared:
            lake.shared.bucket.remove_all(lake.shared.name(folder))
        if folder.exists():
            shutil.rmtree(folder)
    lake.change_manifest(run_id, partial(_sign_kept, lake, run_id))


def _sign_kept(lake: Lake, run_id: str, before: Manifest) -> Manifest:
    """The manifest without what was removed, and with what is kept."""
    left = {name: entry for name, entry in before.files.items() if name.partition("/")[0] not in REMOVED}
    kept = [path for path in folder_of(lake, run_id).glob("[!.]*") if path.is_file()]
    return Manifest(left | {key_of(path): Entry.of(path, _count_rows(path)) for path in kept})


def _count_rows(path: Path) -> int:
    return int(pq.read_metadata(path).num_rows) if path.suffix == ".parquet" else 0


def has_replies(lake: Lake, run_id: str) -> bool:
    """Whether files of a forgotten run remain to be removed."""
    return any(path.is_file() for table in REMOVED for path in _files_of(lake, table, run_id))


def _files_of(lake: Lake, table: str, run_id: str) -> Iterator[Path]:
    lake.bring(lake.folder(table, run_id))
    yield from lake.folder(table, run_id).glob("*")


def _describe(lake: Lake, path: Path) -> Mapping[str, str | int]:
    with path.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    place, rows = path.relative_to(lake.root).as_posix(), _count_rows(path)
    return {"path": place, "bytes": path.stat().st_size, "rows": rows, "sha256": digest}


def _user() -> str:
    try:
        return f"{getpass.getuser()} on {platform.node()}"
    except (KeyError, OSError):  # a container's user without a name
        return f"a user without a name on {platform.node()}"
