"""Disks that fill up, are taken away or break while a run is under way."""

import errno
import os
import pickle
import resource
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb
import polars as pl
import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.tasks.generate.stored_plans import write_plan
from biasgrid.warehouse.build.build import build
from biasgrid.warehouse.storage.disk_reserve import HELD_BYTES
from biasgrid.warehouse.storage.errors import StorageTrouble, storing
from biasgrid.warehouse.storage.journal import Journal, recover
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.run_lock import RunLock

IN_FLIGHT = 300
EVENT = pl.DataFrame([{"run_id": "R1", "event_id": "1", "state": "failed"}])
VERDICTS = pl.DataFrame(
    [
        {
            "run_id": "R1",
            "verdict_id": "v",
            "evaluation_id": "e",
            "level": "instance",
            "cell_id": "x",
            "template_id": "t",
            "sample": 1,
        }
    ]
)


def row(number: int) -> dict[str, object]:
    text = f"{number} " * 100
    return {"run_id": "R1", "response_id": f"r{number}", "request_key": f"k{number}", "text": text}


def ids(lake: Lake) -> list[str]:
    return lake.read("responses").sort("received_at", "request_key")["response_id"].to_list()


@contextmanager
def nothing_more() -> Iterator[None]:
    """No file of this process grows any more, as on a full disk, though nothing can be freed."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


class SmallDisk:
    """A file system of a few megabytes in memory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.ballast = root / "ballast"

    def fill(self) -> None:
        file = os.open(self.ballast, os.O_WRONLY | os.O_CREAT)
        with suppress(OSError):
            while True:
                os.write(file, bytes(4096))
        os.close(file)

    def forbid(self) -> None:
        """A read-only view over it: what is open goes on, as with a permission that is taken away."""
        subprocess.run(["mount", "--bind", self.root, self.root], check=True)
        subprocess.run(["mount", "-o", "remount,bind,ro", self.root], check=True)

    def allow(self) -> None:
        subprocess.run(["umount", "--lazy", self.root], check=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    root = tmp_path / "disk"
    root.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", root], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"no file system may be mounted here: {mounted.stderr.strip()}")
    try:
        yield SmallDisk(root)
    finally:
        while root.is_mount():
            subprocess.run(["umount", "--lazy", root], check=True)


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        (errno.ENOSPC, "free some space"),
        (errno.EDQUOT, "free some space"),
        (errno.EFBIG, "ulimit"),
        (errno.EROFS, "make it writable"),
        (errno.EACCES, "make it writable"),
        (errno.EIO, "see to the disk"),
    ],
)
def test_trouble_names_what_where_and_the_remedy(code, remedy):
    with pytest.raises(StorageTrouble) as caught, storing(Path("/data/lake")):
        raise OSError(code, os.strerror(code))
    shown = str(caught.value.of_run("01ABC", 3))
    assert f"`/data/lake` cannot be written: {os.strerror(code)}" in shown
    assert "3 replies that had arrived are lost and will be asked for again" in shown
    assert remedy in shown
    assert "biasgrid resume 01ABC" in shown
    assert isinstance(caught.value, UserError)
    assert "lost" not in str(caught.value)


def test_trouble_survives_pickling():
    trouble = StorageTrouble(Path("/data"), errno.EIO, "01ABC", 1)
    again = pickle.loads(pickle.dumps(trouble))
    assert (type(again), str(again), again.lost) == (StorageTrouble, str(trouble), 1)


@pytest.mark.parametrize(
    "error",
    [duckdb.IOException(f"IO Error: x: {os.strerror(errno.ENOSPC)}"), RuntimeError("no space left on device")],
)
def test_libraries_that_keep_the_systems_number_to_themselves_are_understood(error):
    with pytest.raises(StorageTrouble) as caught, storing(Path("/data")):
        raise error
    assert caught.value.code == errno.ENOSPC
    assert caught.value.__cause__ is error


@pytest.mark.parametrize(
    "other", [FileNotFoundError(errno.ENOENT, "gone"), ValueError("space"), KeyboardInterrupt()]
)
def test_other_errors_stay_what_they_are(other):
    with pytest.raises(type(other)) as caught, storing(Path("/data")):
        raise other
    assert caught.value is other


def test_a_full_disk_keeps_what_is_in_flight_and_the_runs_event(disk):
    lake = Lake.open(disk.root / "data")
    with pytest.raises(StorageTrouble) as caught:
        _fill_while_running(lake, disk)
    assert "biasgrid resume R1" in str(caught.value)
    assert "lost" not in str(caught.value)
    assert lake.newest("runs")["state"].to_list() == ["failed"]
    whole = sum(path.read_bytes().count(b"\n") for path in lake.journal_folder("R1").iterdir())
    disk.ballast.unlink()
    kept = recover(lake, "R1")
    assert kept > IN_FLIGHT
    assert whole - kept in (0, 1)  # of a line that the full disk tore
    assert sorted(ids(lake)) == sorted(f"r{number}" for number in range(kept))


def _fill_while_running(lake: Lake, disk: SmallDisk) -> None:
    with RunLock(lake, "R1"):
        journal, other = Journal(lake, "R1", "cell"), Journal(lake, "R1", "other")
        journal.append(row(0))
        disk.fill()
        kept = _append_until_trouble(journal)
        for number in range(kept, kept + IN_FLIGHT):
            with pytest.raises(StorageTrouble):
                other.append(row(number))
        other.close()
        lake.write("runs", "R1", "1", EVENT)
        journal.land()


def _append_until_trouble(journal: Journal) -> int:
    """How many were appended in all, the one that met trouble among them."""
    for number in range(1, 1000):
        try:
            journal.append(row(number))
        except StorageTrouble:
            return number + 1
    raise AssertionError("no trouble")


def test_a_run_in_trouble_sends_nothing_more_and_writes_events_only(disk):
    lake = Lake.open(disk.root / "data")
    with RunLock(lake, "R1"):
        journal = Journal(lake, "R1", "cell")
        journal.append(row(0))
        disk.fill()
        _append_until_trouble(journal)
        asks: list[Callable[[], object]] = [
            lambda: Journal(lake, "R1", "next"),
            journal.land,
            lambda: lake.write("verdicts", "R1", "x", VERDICTS),
        ]
        for ask in asks:
            with pytest.raises(StorageTrouble):
                ask()
        lake.write("runs", "R1", "1", EVENT)
    assert journal.path.exists()
    disk.ballast.unlink()
    with RunLock(lake, "R1"):
        Journal(lake, "R1", "next")
        lake.write("verdicts", "R1", "x", VERDICTS)


def test_a_disk_without_room_refuses_a_run_before_anything_is_sent(disk):
    lake = Lake.open(disk.root / "data")
    disk.fill()
    for _ in range(2):
        with pytest.raises(StorageTrouble, match="No space left"), RunLock(lake, "R1"):
            raise AssertionError("began")
    disk.ballast.unlink()
    with RunLock(lake, "R1"):
        pass


def test_a_disk_that_becomes_read_only_counts_what_was_lost(disk):
    lake = Lake.open(disk.root / "data")
    with pytest.raises(StorageTrouble, match="Read-only") as caught:
        _forbid_while_running(lake, disk)
    assert "2 replies that had arrived are lost and will be asked for again" in str(caught.value)
    assert "make it writable again, then go on with `biasgrid resume R1`" in str(caught.value)
    disk.allow()
    assert recover(lake, "R1") == 1
    assert ids(lake) == ["r0"]


def _forbid_while_running(lake: Lake, disk: SmallDisk) -> None:
    with RunLock(lake, "R1"):
        journal = Journal(lake, "R1", "cell")
        journal.append(row(0))
        journal.close()
        disk.forbid()
        for number in (1, 2):
            with pytest.raises(StorageTrouble):
                journal.append(row(number))
        lake.write("runs", "R1", "1", EVENT)


def test_where_nothing_can_be_freed_the_loss_is_counted_and_the_rest_stays_whole(lake):
    with pytest.raises(StorageTrouble, match="1 reply that had arrived is lost"):
        _lose_one_of_three(lake)
    assert recover(lake) == 2
    assert sorted(ids(lake)) == ["r0", "r2"]


def _lose_one_of_three(lake: Lake) -> None:
    with RunLock(lake, "R1"):
        journal = Journal(lake, "R1", "cell")
        journal.append(row(0))
        with nothing_more(), pytest.raises(StorageTrouble):
            journal.append(row(1))
        with pytest.raises(StorageTrouble):
            journal.append(row(2))
        journal.land()


@pytest.mark.parametrize("write", ["rows", "plan", "warehouse"])
def test_a_write_that_fails_leaves_what_was_there(lake, write):
    writes: dict[str, Callable[[], Path]] = {
        "rows": lambda: lake.write("verdicts", "R1", "x", VERDICTS),
        "plan": lambda: write_plan(lake, "p", VERDICTS),
        "warehouse": lambda: build(lake),
    }
    path = writes[write]()
    before = path.read_bytes()
    with nothing_more(), pytest.raises(StorageTrouble) as caught:
        writes[write]()
    assert str(path) in str(caught.value)
    assert path.read_bytes() == before
    assert [found for found in path.parent.iterdir() if ".partial" in found.name] == []


def test_space_is_held_back_while_a_run_is_written_and_no_longer(lake):
    def held_bytes() -> int:
        return sum(path.stat().st_blocks * 512 for path in lake.root.rglob(".reserve"))

    with RunLock(lake, "R1"):
        assert held_bytes() >= HELD_BYTES
        recover(lake, "R1")
        assert held_bytes() >= HELD_BYTES
    assert held_bytes() == 0


def test_what_a_killed_run_held_back_goes_when_it_is_recovered(lake):
    lake.journal_folder("R1").mkdir(parents=True)
    left = lake.journal_folder("R1") / ".reserve"
    left.write_bytes(bytes(HELD_BYTES))
    recover(lake)
    assert not left.exists()


def test_an_interruption_in_trouble_stays_an_interruption(lake):
    with pytest.raises(KeyboardInterrupt):
        _interrupt_in_trouble(lake)


def _interrupt_in_trouble(lake: Lake) -> None:
    with RunLock(lake, "R1"):
        journal = Journal(lake, "R1", "cell")
        with nothing_more(), pytest.raises(StorageTrouble):
            journal.append(row(0))
        raise KeyboardInterrupt
