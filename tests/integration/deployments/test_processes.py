"""Processes of a small team's machine: what a worker runs may land, and no process is left behind unnoticed."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from biasgrid.deployments.processes import Claim, Claimed, Process, hold_claim, start_process
from support.processes import wait_until

WORKER = """
import signal, subprocess, sys, time
from pathlib import Path

landing = '''
import signal, sys, time
from pathlib import Path

def land(*_):
    time.sleep(0.3)
    Path(sys.argv[1]).write_text("landed")
    sys.exit()

signal.signal(signal.SIGTERM, land)
Path(sys.argv[1]).write_text("asking")
time.sleep(60)
'''
run = subprocess.Popen([sys.executable, "-c", landing, sys.argv[1]])

def stop(*_):
    run.kill()
    sys.exit()

signal.signal(signal.SIGTERM, stop)
run.wait()
time.sleep(60)
"""


@pytest.fixture
def claim(tmp_path: Path) -> Iterator[Claim]:
    with hold_claim(tmp_path / "serving.lock") as made:
        yield made


def worker(folder: Path, claim: Claim) -> Process:
    """One that kills what it runs when it is asked to end, as Prefect's does; its run has begun."""
    (folder / "a_worker.py").write_text(WORKER, encoding="utf-8")
    reply = folder / "reply"
    begun = start_process(
        "worker", ["a_worker", str(reply)], folder / "log", {"PYTHONPATH": str(folder)}, claim, runs=True
    )
    wait_until(reply.exists)
    return begun


def test_what_a_worker_runs_lands_before_it_ends(tmp_path, claim):
    worker(tmp_path, claim).end()
    assert (tmp_path / "reply").read_text() == "landed"


def test_who_was_killed_leaves_processes_that_the_next_one_is_reported_of(tmp_path):
    lock = tmp_path / "serving.lock"
    with hold_claim(lock) as claim:
        left = worker(tmp_path, claim)
    with pytest.raises(Claimed) as refused, hold_claim(lock):
        pass
    assert refused.value.groups == [left.handle.pid]
    os.killpg(left.handle.pid, signal.SIGKILL)
    left.handle.wait()
    with hold_claim(lock):
        assert lock.read_text() == ""
