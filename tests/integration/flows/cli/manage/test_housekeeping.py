"""Forgetting runs, backing up and restoring, as a person types it."""

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import filelock
import polars as pl
import pytest

from biasgrid.flows.operations import backup
from biasgrid.flows.results.retention import forget
from biasgrid.warehouse.build.build import build, query
from biasgrid.warehouse.storage.compaction import compact_run
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import all_runs
from biasgrid.warehouse.storage.tombstones import REMOVED, find_tombstones, folder_of, has_replies
from support.command_line import Finished

pytestmark = pytest.mark.drill

FINDINGS = "from marts.requirement_findings order by all"


@pytest.fixture
def at(lake: Lake) -> tuple[str, str]:
    return "--data", str(lake.root)


def test_a_forgotten_run_keeps_its_findings_and_a_tombstone(biasgrid, lake, at):
    (run,) = all_runs(lake)
    compact_run(lake, run.run_id)
    build(lake)
    before, files = query(lake, FINDINGS), [path for table in REMOVED for path in lake.files(table)]
    given = biasgrid("runs", "forget", run.run_id, "--why", "retention", "--yes", *at)
    assert given.code == 0, given
    assert f"{len(files)} files" in given.err
    assert [path for table in REMOVED for path in lake.files(table)] == []
    assert query(lake, FINDINGS).equals(before)
    build(lake, full=True)
    assert query(lake, FINDINGS).equals(before)
    tombstone = json.loads((folder_of(lake, run.run_id) / "tombstone.json").read_text())
    assert tombstone["why"] == "retention"
    assert sum(one["rows"] for one in tombstone["removed"]) > before.height
    assert {one["path"] for one in tombstone["removed"]} == {str(file.relative_to(lake.root)) for file in files}
    assert "forgotten" in biasgrid("runs", *at).out
    assert biasgrid("show", *at).code == 0
    assert biasgrid("report", "--all", "--out", lake.root / "pages", *at).code == 0
    assert biasgrid("warehouse", "check", *at).code == 0
    verified = biasgrid("warehouse", "verify", *at)
    assert verified.code == 0, verified


@pytest.fixture(scope="module")
def forgotten(finished: Finished, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A copy of the finished run, which has been forgotten."""
    lake = Lake(tmp_path_factory.mktemp("forgotten") / "data")
    shutil.copytree(finished.data, lake.root)
    assert forget(lake, all_runs(lake), "end of term", "findings") == []
    return lake


@pytest.mark.parametrize(
    ("words", "lack"),
    [
        (["report"], "report"),
        (["resume"], "rest to ask"),
        (["evaluate"], "later evaluation"),
        (["review"], "review"),
        (["trace"], "trace"),
        (["runs", "forget", "--why", "again"], "run to forget"),
        (["compare", "RUN"], "comparison"),
    ],
)
def test_what_needs_replies_names_who_removed_them_and_when(biasgrid, forgotten, words, lack):
    (run,) = all_runs(forgotten)
    words = [run.run_id if word == "RUN" else word for word in words]
    given = biasgrid(*words, run.run_id, "--data", forgotten.root)
    assert given.is_a_mistake("forgotten on", "(end of term)", f"there is no {lack}")


def test_evidence_is_kept_where_it_is_asked_for(biasgrid, lake, at):
    (run,) = all_runs(lake)
    given = biasgrid("runs", "forget", run.run_id, "--why", "x", "--keep", "evidence", "--yes", *at)
    assert given.code == 0, given
    (bundle,) = folder_of(lake, run.run_id).glob("*.zip")
    verified = biasgrid("evidence", "verify", bundle)
    assert verified.code == 0
    assert f"digest  {find_tombstones(lake)[run.run_id].evidence}" in verified.out


def test_runs_older_than_an_age_are_forgotten_unless_they_are_under_way(biasgrid, lake, at):
    (run,) = all_runs(lake)
    assert "no run to forget" in biasgrid("runs", "forget", "--older-than", "1d", "--why", "x", *at).out
    event = lake.read("runs", run.run_id).head(1)
    now = datetime.now(UTC)
    for run_id, state, recorded in (
        ("OLD", "completed", now),
        ("BUSY", "running", now),
        ("LOST", "running", None),
    ):
        at_ = {"recorded_at": recorded or now - timedelta(days=2), "started_at": now - timedelta(days=3)}
        row = event.with_columns(pl.lit(run_id).alias("run_id"), state=pl.lit(state))
        lake.write("runs", run_id, "1", row.with_columns(pl.lit(value).alias(name) for name, value in at_.items()))
    given = biasgrid("runs", "forget", "--older-than", "2d", "--why", "x", "--yes", *at)
    assert (given.code, find_tombstones(lake).keys()) == (0, {"OLD", "LOST"})
    busy = biasgrid("runs", "forget", "BUSY", "--why", "x", "--yes", *at)
    assert busy.is_a_mistake("run `BUSY` is running, or was killed less than a day ago")


def test_a_run_that_is_written_is_not_forgotten(biasgrid, lake, at):
    (run,) = all_runs(lake)
    lake.locks.mkdir(exist_ok=True)
    with filelock.FileLock(lake.locks / f"run-{run.run_id}.lock"):
        given = biasgrid("runs", "forget", run.run_id, "--why", "x", "--yes", *at)
    assert (given.code, find_tombstones(lake)) == (2, {})
    assert "written by another process" in given.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--why", "x"], "name either a run or an age"),
        (["RUN", "--older-than", "1d", "--why", "x"], "a run and an age are named"),
        (["--older-than", "soon", "--why", "x"], "`soon` is no age"),
        (["RUN"], "the tombstone needs a reason"),
        (["RUN", "--why", "x"], "this needs a confirmation"),
    ],
)
def test_nothing_is_removed_by_mistake(biasgrid, lake, at, words, message):
    (run,) = all_runs(lake)
    given = biasgrid("runs", "forget", *(run.run_id if word == "RUN" else word for word in words), *at)
    assert (given.code, find_tombstones(lake)) == (2, {})
    assert message in given.err


def test_the_next_call_removes_what_a_killed_one_left(biasgrid, lake, at, monkeypatch):
    (run,) = all_runs(lake)
    monkeypatch.setattr("biasgrid.flows.results.retention.finish_forgetting", lambda _: 0)
    assert biasgrid("runs", "forget", run.run_id, "--why", "x", "--yes", *at).code == 0
    monkeypatch.undo()
    assert has_replies(lake, run.run_id)
    monkeypatch.setenv("BIASGRID_DATA", str(lake.root))
    assert biasgrid("warehouse", "build").code == 0
    assert not has_replies(lake, run.run_id)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "a backup"


def stored(root: Path) -> dict[str, bytes]:
    places = [path for name in ("lake", "journal") for path in (root / name).rglob("*") if path.is_file()]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in places}


def test_a_backup_restores_every_file_and_finding(biasgrid, lake, at, folder, tmp_path):
    journal = lake.journal_folder("R2") / "cell.jsonl"
    journal.parent.mkdir(parents=True)
    journal.write_bytes(b'{"whole": 1}\n{"torn')
    assert biasgrid("backup", folder, *at).code == 0
    journal.write_bytes(b'{"whole": 1}\n')
    before, findings = stored(lake.root), query(lake, FINDINGS)
    restored = Lake(tmp_path / "restored")
    backup.restore(folder, restored)
    assert stored(restored.root) == before
    assert biasgrid("restore", folder, "--data", tmp_path / "built").code == 0
    assert query(Lake(tmp_path / "built"), FINDINGS).equals(findings)


def test_a_later_backup_copies_what_is_new_and_forgets_what_was_forgotten(biasgrid, lake, at, folder):
    biasgrid("backup", folder, *at)
    assert ", 0 new" in biasgrid("backup", folder, *at).out
    (run,) = all_runs(lake)
    run.record(lake, "completed")
    assert ", 2 new" in biasgrid("backup", folder, *at).out  # with the log of what has landed
    reply = lake.files("responses")[0].read_bytes()
    assert reply in [path.read_bytes() for path in (folder / "files").rglob("*") if path.is_file()]
    biasgrid("runs", "forget", run.run_id, "--why", "x", "--yes", *at)
    biasgrid("backup", folder, *at)
    assert reply not in [path.read_bytes() for path in (folder / "files").rglob("*") if path.is_file()]


def test_data_that_is_there_is_replaced_only_if_asked_and_then_kept(biasgrid, lake, at, folder):
    biasgrid("backup", folder, *at)
    (run,) = all_runs(lake)
    run.record(lake, "failed")
    before = stored(lake.root)
    assert biasgrid("restore", folder, *at).is_a_mistake("has data", "--force")
    assert stored(lake.root) == before
    assert biasgrid("restore", folder, "--force", *at).code == 0
    assert all_runs(lake)[0].state == "completed"
    (aside,) = lake.root.glob("replaced-*")
    assert stored(aside) == before


def test_a_damaged_backup_is_refused_before_anything_is_replaced(biasgrid, lake, at, folder):
    biasgrid("backup", folder, *at)
    path = max((folder / "files").rglob("*"), key=lambda path: path.is_file() and path.stat().st_size)
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    before = stored(lake.root)
    assert biasgrid("restore", folder, "--force", *at).is_a_mistake(
        "is damaged or missing in the backup", path.name
    )
    assert stored(lake.root) == before


def outside(read):
    read["files"][0]["path"] = "lake/../../elsewhere"


def elsewhere(read):
    read["files"][0]["sha256"] = "../../manifest.json"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda read: read.pop("format"), "manifest is damaged"),
        (lambda read: read.update(files=[7]), "manifest is damaged"),
        (lambda read: read["files"][0].pop("bytes"), "manifest is damaged"),
        (elsewhere, "manifest is damaged"),
        (outside, "is no file of a data directory"),
    ],
)
def test_a_manifest_of_another_hand_writes_nothing(biasgrid, lake, at, folder, tmp_path, change, message):
    assert biasgrid("backup", folder, *at).code == 0
    read = json.loads((folder / "manifest.json").read_text())
    change(read)
    (folder / "manifest.json").write_text(json.dumps(read))
    assert biasgrid("restore", folder, "--data", tmp_path / "restored").is_a_mistake(message)
    assert not (tmp_path / "restored" / "lake").exists()
    assert not (tmp_path / "elsewhere").exists()


def test_a_link_in_a_backup_is_not_followed(biasgrid, lake, at, folder, tmp_path):
    assert biasgrid("backup", folder, *at).code == 0
    stored = next(path for path in (folder / "files").rglob("*") if path.is_file())
    stored.rename(tmp_path / "secret")
    stored.symlink_to(tmp_path / "secret")
    given = biasgrid("restore", folder, "--data", tmp_path / "restored")
    assert given.is_a_mistake("is damaged or missing in the backup")


def test_a_backup_goes_only_where_it_belongs(biasgrid, lake, at, folder, tmp_path):
    assert biasgrid("backup", lake.root / "copy", *at).is_a_mistake("in the data directory itself")
    assert biasgrid("restore", folder, *at).is_a_mistake("there is no backup in")
    folder.mkdir()
    (folder / "letter.txt").touch()
    assert biasgrid("backup", folder, *at).is_a_mistake("has other files than a backup", "letter.txt")
    biasgrid("backup", tmp_path / "one", *at)
    (lake.root).rename(tmp_path / "elsewhere")
    other = biasgrid("backup", tmp_path / "one", "--data", tmp_path / "elsewhere")
    assert other.is_a_mistake("has a backup of")
