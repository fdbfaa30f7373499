"""Drills: the disk fills up, becomes read-only or takes nothing more while a run is under way."""

import os
import re
import resource
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from support.processes import PATIENCE_S, wait_until
from support.run_processes import wait_for_requests

pytestmark = pytest.mark.drill

AT_ONCE = 8
STORAGE_TROUBLE = 3


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of sixteen megabytes: the warehouse of a small run takes half of that."""
    root = tmp_path / "disk"
    root.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(root)]
    mounted = subprocess.run(mount, capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"no file system may be mounted here: {mounted.stderr.strip()}")
    try:
        yield root
    finally:
        while root.is_mount():
            subprocess.run(["umount", "--lazy", root], check=True)


def fill(ballast: Path) -> None:
    file = os.open(ballast, os.O_WRONLY | os.O_CREAT)
    with suppress(OSError):
        while True:
            os.write(file, bytes(4096))
    os.close(file)


def error_of(process: subprocess.Popen[str]) -> str:
    """The error of a run that ended: one message, and no traceback."""
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == STORAGE_TROUBLE, out + err
    assert "Traceback" not in out + err
    assert err.count("cannot be written") == 1, err
    return err


def count_lost(expected: str) -> int:
    found = re.search(r"(\d+) repl(?:y|ies) that had arrived", expected)
    return int(found[1]) if found else 0


def test_a_disk_that_fills_up_stops_the_run_and_keeps_what_was_in_flight(shell, slow, asked, disk):
    mine = shell("full", disk / "data")
    process = mine.start("run", asked)
    wait_for_requests(slow, 40, process)
    fill(disk / "ballast")
    result = error_of(process)
    assert "No space left on device" in result
    assert f"biasgrid resume {mine.run().run_id}" in result
    assert count_lost(result) == 0
    assert mine.run().state == "failed"
    kept = mine.arrived_replies()
    assert len(kept) == len(slow.bodies) < len(mine.prompts())
    assert list(mine.data.rglob(".reserve")) == []

    code, out, err = mine.finish("resume")
    assert code == STORAGE_TROUBLE, out + err
    assert "free some space there, then go on with" in err
    assert len(slow.bodies) == len(kept)

    (disk / "ballast").unlink()
    mine.complete("resume")
    assert mine.run().state == "completed"
    assert kept.items() <= mine.arrived_replies().items()
    assert len(slow.bodies) == len(mine.prompts()) == len(mine.arrived_replies())


def test_a_directory_that_becomes_read_only_stops_the_run_and_states_what_was_lost(shell, slow, asked, disk):
    mine = shell("read-only", disk / "data")
    process = mine.start("run", asked)
    wait_for_requests(slow, 40, process)
    subprocess.run(["mount", "--bind", disk, disk], check=True)
    subprocess.run(["mount", "-o", "remount,bind,ro", disk], check=True)
    result = error_of(process)
    subprocess.run(["umount", "--lazy", disk], check=True)
    assert "Read-only file system" in result
    assert "make it writable again, then go on with" in result
    kept = mine.arrived_replies()
    assert len(slow.bodies) - len(kept) == count_lost(result)
    goes_on(mine, slow, kept, count_lost(result))


@pytest.mark.parametrize("moment", ["prompting", "aggregating"])
def test_a_disk_that_takes_nothing_more_stops_the_run_and_states_what_was_lost(shell, slow, asked, moment):
    mine = shell("blocked")
    process = mine.start("run", asked)
    wait_for_requests(slow, 40, process)
    if moment == "aggregating":
        wait_until(lambda: any(mine.data.glob(".*.partial")), process, every_s=0.001)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    result = error_of(process)
    kept = mine.arrived_replies()
    assert len(slow.bodies) - len(kept) == count_lost(result)
    assert (count_lost(result) > 0) == (moment == "prompting")
    goes_on(mine, slow, kept, count_lost(result))


def goes_on(mine: Any, slow: Any, kept: dict[str, tuple[str, str]], lost: int) -> None:
    """Once the disk is well again: nothing that was kept is asked again, and everything else is."""
    cells = mine.lake.read("cells")["cell_id"].n_unique()
    assert lost <= AT_ONCE * cells  # each cell stops at its next answer
    mine.complete("resume")
    assert mine.run().state == "completed"
    assert kept.items() <= mine.arrived_replies().items()
    assert len(slow.bodies) == len(mine.prompts()) + lost
    times, texts = Counter(slow.prompts()), mine.prompts()
    assert {times[texts[key]] for key in kept} == {1}
