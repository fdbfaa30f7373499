"""Processes of a small team's machine: what a worker runs may land, and no process is left behind unnoticed."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from biasgrid.deployments.processes import Claim, Claimed, Process, hold_claim, start_process
from biasgrid.deployments.worker import end_runs
from support.processes import wait_until

pytestmark = pytest.mark.drill

WORKER = """
import os, signal, subprocess, sys, time
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
run = subprocess.Popen([sys.executable, "-c", landing, sys.argv[1]], start_new_session=True)

def stop(*_):
    os.killpg(run.pid, signal.SIGTERM)
    run.wait()
    sys.exit()

signal.signal(signal.SIGTERM, stop)
run.wait()
time.sleep(60)
"""


STARTING = """
import signal, sys, time
print("starts", flush=True)
sys.stdin.readline()
signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
print("ready", flush=True)
time.sleep(60)
"""


@pytest.fixture
def claim(tmp_path: Path) -> Iterator[Claim]:
    with hold_claim(tmp_path / "serving.lock") as made:
        yield made


def worker(folder: Path, claim: Claim) -> Process:
    """One that passes on that it is asked to end; its run, in a group of its own, has begun."""
    (folder / "a_worker.py").write_text(WORKER, encoding="utf-8")
    reply = folder / "reply"
    begun = start_process("worker", ["a_worker", str(reply)], folder / "log", {"PYTHONPATH": str(folder)}, claim)
    wait_until(reply.exists)
    return begun


def test_what_a_worker_runs_lands_before_it_ends(tmp_path, claim):
    worker(tmp_path, claim).end()
    assert (tmp_path / "reply").read_text() == "landed"


def test_a_run_that_just_starts_is_asked_to_end_when_it_would_not_die_of_it():
    command = [sys.executable, "-c", STARTING]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdin is not None
        assert run.stdout is not None
        assert run.stdout.readline() == "starts\n"
        assert end_runs({run.pid}) == set()
        run.stdin.write("\n")
        run.stdin.flush()
        assert run.stdout.readline() == "ready\n"
        assert end_runs({run.pid}) == {run.pid}
        assert run.wait(10) == 7


def test_who_was_killed_leaves_processes_that_the_next_one_is_reported_of(tmp_path):
    lock = tmp_path / "serving.lock"
    with hold_claim(lock) as claim:
        left = worker(tmp_path, claim)
    with pytest.raises(Claimed) as refused, hold_claim(lock):
        pass
    assert refused.value.groups == [left.handle.pid]
    left.kill()
    with hold_claim(lock):
        assert lock.read_text() == ""


def test_a_worker_and_its_run_end_with_a_process_that_is_killed(tmp_path):
    (tmp_path / "a_worker.py").write_text(WORKER, encoding="utf-8")
    starts = (
        "import os, sys, time; from pathlib import Path\n"
        "from biasgrid.deployments.processes import hold_claim, start_process; folder = Path(sys.argv[1])\n"
        "with hold_claim(folder / 'lock') as claim:\n"
        "    words = ['a_worker', str(folder / 'reply')]\n"
        "    start_process('worker', words, folder / 'log', {'PYTHONPATH': str(folder)}, claim)\n"
        "    while not (folder / 'reply').exists(): time.sleep(0.02)\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    ended = subprocess.run([sys.executable, "-c", starts, str(tmp_path)], timeout=60)
    assert ended.returncode == -9
    (group,) = (tmp_path / "lock").read_text().split()
    with suppress(ProcessLookupError):
        wait_until(lambda: os.killpg(int(group), 0))
    with hold_claim(tmp_path / "lock"):
        pass
