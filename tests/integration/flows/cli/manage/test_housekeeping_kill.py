"""kill -9 at random moments of compacting, building, forgetting, backing up and restoring: the next call ends the
work."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from biasgrid.flows.operations.backup import back_up, restore
from biasgrid.flows.results.retention import finish_forgetting, forget
from biasgrid.warehouse.build.build import build, query
from biasgrid.warehouse.schemas import TABLES
from biasgrid.warehouse.storage.compaction import compact_runs, find_superseded
from biasgrid.warehouse.storage.journal import recover
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import all_runs
from biasgrid.warehouse.storage.tombstones import find_tombstones, has_replies

FINDINGS = "from marts.requirement_findings order by all"
WORK = """
import sys
from pathlib import Path
from biasgrid.flows.operations.backup import back_up, restore
from biasgrid.flows.results.retention import forget
from biasgrid.warehouse.build.build import build, prepare
from biasgrid.warehouse.storage.compaction import compact_runs
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import all_runs
lake, folder = Lake(Path(sys.argv[1])), Path(sys.argv[2])
prepare()
print("ready", flush=True)
"""
STEPS = {
    "forget": 'forget(lake, all_runs(lake), "x", "marts")',
    "backup": "back_up(lake, folder)",
    "restore": "restore(folder, lake, force=True)",
    "compact": "compact_runs(lake); build(lake)",
}

pytestmark = pytest.mark.drill
seeds = pytest.mark.parametrize("seed", range(11))


def kill_during(step: str, seed: int, lake: Lake, folder: Path, longest: float) -> None:
    code = f"{WORK}{STEPS[step]}"
    words = [sys.executable, "-P", "-c", code, str(lake.root), str(folder)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        time.sleep(random.Random(seed).uniform(0, longest))
        process.send_signal(signal.SIGKILL)


def stored(root: Path) -> dict[str, bytes]:
    files = (path for path in (root / "lake").rglob("*") if path.is_file() and path.name[0] != ".")
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in files}


@seeds
def test_a_run_is_whole_or_forgotten(lake, tmp_path, seed):
    before = query(lake, FINDINGS)
    kill_during("forget", seed, lake, tmp_path, 2.5)
    assert query(lake, FINDINGS).equals(before)
    if not find_tombstones(lake):
        build(lake)
        assert lake.read("responses").height > 0
        forget(lake, all_runs(lake), "x", "marts")
    finish_forgetting(lake)
    (run,) = all_runs(lake)
    assert not has_replies(lake, run.run_id)
    build(lake, full=True)
    assert query(lake, FINDINGS).equals(before)


@seeds
def test_the_earlier_backup_or_the_new_one_is_whole(lake, tmp_path, seed):
    folder = tmp_path / "backup"
    earlier = stored(lake.root)
    if seed % 2:
        back_up(lake, folder)
    (run,) = all_runs(lake)
    for number in range(40):
        run.record(lake, "completed" if number % 2 else "incomplete")
    kill_during("backup", seed, lake, folder, 0.8)
    if (folder / "manifest.json").exists():
        restore(folder, Lake(tmp_path / "between"))
        assert stored(tmp_path / "between") in (earlier, stored(lake.root))
    back_up(lake, folder)
    restore(folder, Lake(tmp_path / "restored"))
    assert stored(tmp_path / "restored") == stored(lake.root)
    assert len(list((folder / "files").rglob("*.partial"))) == 0


@seeds
def test_data_is_restored_and_what_was_there_is_kept(lake, tmp_path, seed):
    folder, expected = tmp_path / "backup", stored(lake.root)
    back_up(lake, folder)
    (run,) = all_runs(lake)
    run.record(lake, "failed")
    replaced = stored(lake.root)
    kill_during("restore", seed, lake, folder, 0.8)
    restore(folder, lake, force=True)
    assert stored(lake.root) == expected
    assert replaced in [stored(aside) for aside in lake.root.glob("replaced-*")]
    build(lake)


def rows(lake: Lake) -> dict[str, list[str]]:
    return {table: sorted(map(str, lake.read(table).rows())) for table in TABLES}


@pytest.mark.parametrize("seed", range(27))
def test_rows_count_once_and_the_old_warehouse_answers_while_files_are_compacted(lake, tmp_path, seed):
    (run,) = all_runs(lake)
    texts = "from staging.stg_verdicts order by all"
    before, findings, replies = rows(lake), query(lake, FINDINGS), query(lake, texts, texts_of=run.run_id)
    if seed % 2:  # files of an earlier compaction are still there
        compact_runs(lake)
    kill_during("compact", seed, lake, tmp_path, 4)
    assert rows(lake) == before
    assert query(lake, FINDINGS).equals(findings)
    assert query(lake, texts, texts_of=run.run_id).equals(replies)
    recover(lake)
    compact_runs(lake)
    build(lake)
    assert find_superseded(lake) == []
    assert all(len(lake.files(table)) <= 1 for table in TABLES)
    assert rows(lake) == before
    assert query(lake, FINDINGS).equals(findings)
    assert query(lake, texts, texts_of=run.run_id).equals(replies)
