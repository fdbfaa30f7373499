"""The `biasgrid` process as the shell sees it: exit codes, output to the last byte, no process left behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.processes import BIASGRID

pytestmark = pytest.mark.drill


@pytest.mark.parametrize(
    ("words", "code"), [(["--version"], 0), (["plan", "no-such-file.yaml"], 2), (["no-such-command"], 2), ([], 2)]
)
def test_the_process_ends_with_the_commands_exit_code(words, code):
    ended = subprocess.run([*BIASGRID, *words], capture_output=True, text=True, timeout=60)
    assert ended.returncode == code
    assert ended.stdout or ended.stderr


def test_what_is_printed_is_whole_though_the_process_leaves_at_once():
    words = ["run", "--help"]
    whole = [sys.executable, "-c", "from biasgrid.flows.cli import main\nmain()"]
    shown = [
        subprocess.run([*program, *words], stdout=subprocess.PIPE, text=True, timeout=60).stdout
        for program in (BIASGRID, whole)
    ]
    assert shown[0] == shown[1]
    assert "--max-cost" in shown[0]


def test_output_that_cannot_be_written_is_no_success():
    """Python itself exits with 120 where its output is lost as it ends."""
    program = "from biasgrid.flows.cli.process import leave; import sys; sys.stdout.write('lost'); leave(0)"
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
        ended = subprocess.run([sys.executable, "-c", program], stdout=full, env=buffered, timeout=60)
    assert ended.returncode == 120


@pytest.mark.parametrize(
    ("words", "buffered"),
    [(["--help"], True), (["--help"], False), (["catalog", "stats", "--format", "csv"], True)],
)
def test_a_full_disk_behind_the_output_is_one_line_and_no_success(words, buffered):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    environment |= {} if buffered else {"PYTHONUNBUFFERED": "1"}
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        ended = subprocess.run(
            [*BIASGRID, *words], stdout=full, stderr=subprocess.PIPE, env=environment, text=True, timeout=60
        )
    assert ended.returncode == 120
    assert ended.stderr == "biasgrid: the output cannot be written: No space left on device\n"


def test_a_mistake_that_no_one_can_be_reported_is_a_mistake_all_the_same():
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        ended = subprocess.run([*BIASGRID, "plan", "no-such-file.yaml"], stderr=full, timeout=60)
    assert ended.returncode == 2


@pytest.mark.parametrize(
    ("closed", "words", "code", "shown"),
    [
        ("<&-", ["plan", "/dev/stdin"], 2, "/dev/stdin: is empty"),
        (">&-", ["--version"], 120, "the output cannot be written: Bad file descriptor"),
    ],
)
def test_a_closed_stream_is_empty_or_fails(closed, words, code, shown):
    call = ["sh", "-c", f'exec "$@" {closed}', "sh", *BIASGRID, *words]
    ended = subprocess.run(call, stderr=subprocess.PIPE, text=True, timeout=60)
    assert (ended.returncode, "Traceback" in ended.stderr) == (code, False), ended.stderr
    assert shown in ended.stderr


@pytest.mark.parametrize("words", [["catalog", "stats"], ["catalog", "stats", "--format", "csv"], ["--help"]])
def test_a_reader_that_has_gone_is_reported_nothing(words):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ended = subprocess.run([*BIASGRID, *words], stdout=writing, stderr=subprocess.PIPE, text=True, timeout=60)
    finally:
        os.close(writing)
    assert (ended.returncode, ended.stderr) == (141, "")


@pytest.mark.parametrize("word", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_before_anything_is_imported_is_one_line(word):
    program = (
        "import os, sys; from biasgrid.flows.cli.process import interruption, run\n"
        f"watch = interruption.watch; interruption.watch = lambda: (watch(), os.kill(os.getpid(), {int(word)}))\n"
        "sys.argv[1:] = ['catalog', 'check']; run()"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    name = "" if word == signal.SIGINT else f" by {word.name}"
    assert (ended.returncode, ended.stdout) == (128 + word, "")
    assert ended.stderr == f"biasgrid: interrupted{name}\n"


def test_a_command_that_begins_after_the_signal_was_reported_reports_it_no_more():
    program = f"""
import os, sys, threading, time
from biasgrid.flows.cli.process import interruption, run
begin, begun, error, watch = interruption.begin, threading.Event(), sys.stderr, interruption.watch
def begin_late():
    while sys.stderr is error:
        time.sleep(0.001)
    begin()
    begun.set()
interruption.begin = begin_late
interruption.closes.append(lambda: begun.wait(30))
interruption.watch = lambda: (watch(), os.kill(os.getpid(), {int(signal.SIGTERM)}))
sys.argv[1:] = ['catalog', 'check']
run()
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (143, "", "biasgrid: interrupted by SIGTERM\n")


def test_what_was_registered_for_the_end_is_done():
    program = (
        "import atexit; from biasgrid.flows.cli.process import leave; atexit.register(print, 'ended'); leave(3)"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout) == (3, "ended\n")
