"""kill -9 at random moments of forgetting, backing up and restoring: the next call ends the work."""

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
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import all_runs
from biasgrid.warehouse.storage.tombstones import find_tombstones, has_replies

FINDINGS = "from marts.requirement_findings order by all"
WORK = """
import sys
from pathlib import Path
from biasgrid.flows.operations.backup import back_up, restore
from biasgrid.flows.results.retention import forget
from biasgrid.warehouse.build.build import prepare
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
}

pytestmark = [pytest.mark.drill, pytest.mark.parametrize("seed", range(7))]


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
