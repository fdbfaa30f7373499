"""The validation process: it has no keys, ends with its parent, and reports its failures."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from biasgrid.warehouse.expectations.gate import inspect
from biasgrid.warehouse.expectations.process import Inspector, NotInspected
from biasgrid.warehouse.storage.lake import Lake

STARTED = """
import sys, time
from biasgrid.warehouse.expectations.gate import inspect
from biasgrid.warehouse.expectations.process import Inspector
with Inspector() as inspector:
    print(inspector.pid, flush=True)
    time.sleep(60)
"""

SPARING = """
import sys
from biasgrid.warehouse.expectations.__main__ import import_sparingly
import_sparingly()
import biasgrid.warehouse.expectations.validation
import altair
from scipy import stats
assert not {"altair.vegalite", "scipy.stats._stats_py", "boto3.session", "sqlalchemy.orm"} & sys.modules.keys()
assert altair.Chart.__module__.startswith("altair.vegalite")
assert stats.norm.cdf(0) == 0.5
"""


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def is_gone_soon(pid: int) -> bool:
    deadline = time.monotonic() + 10
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not is_alive(pid)


@contextmanager
def started(folder: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A process that has started an inspector, and the inspector's id."""
    with subprocess.Popen(
        [sys.executable, "-c", STARTED],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=folder,
        env={**os.environ, "OPENAI_API_KEY": "sk-secret", "PYTHONPATH": os.pathsep.join(sys.path)},
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        try:
            yield process, int(process.stdout.readline())
        finally:
            process.kill()


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_it_is_gone_when_the_process_that_started_it_is(tmp_path, end):
    with started(tmp_path) as (process, pid):
        assert is_alive(pid)
        process.send_signal(end)
        process.wait(10)
        assert is_gone_soon(pid)


def _environment(pid: int) -> bytes:
    """Empty while the process is still being made."""
    deadline = time.monotonic() + 10
    while not (found := Path(f"/proc/{pid}/environ").read_bytes()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return found


def test_it_does_not_hear_what_a_terminal_sends_and_knows_no_key(tmp_path):
    with started(tmp_path) as (process, pid):
        assert os.getpgid(pid) != os.getpgid(process.pid)
        environment = _environment(pid)
        assert b"sk-secret" not in environment
        assert b"PATH=" in environment


def test_no_process_is_left_afterwards():
    with Inspector() as inspector:
        assert is_alive(inspector.pid)
    assert not is_alive(inspector.pid)


def test_an_end_before_the_answer_is_reported_with_its_remedy(tmp_path):
    with Inspector() as inspector:
        os.kill(inspector.pid, signal.SIGKILL)
        with pytest.raises(NotInspected) as caught:
            inspect(inspector, Lake(tmp_path), None)
    assert "ended with code -9" in str(caught.value)
    assert "biasgrid warehouse check" in str(caught.value)


def test_a_failed_import_is_reported(tmp_path, monkeypatch):
    broken = tmp_path / "great_expectations"
    broken.mkdir()
    (broken / "__init__.py").write_text("raise ImportError('no numpy here')")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    with Inspector() as inspector, pytest.raises(NotInspected, match="no numpy here"):
        inspect(inspector, Lake(tmp_path), None)


def test_a_process_that_cannot_be_started_is_reported(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with pytest.raises(NotInspected, match="No such file"):
        Inspector()


def test_unused_modules_of_great_expectations_are_imported_when_first_used():
    subprocess.run([sys.executable, "-c", SPARING], check=True)
