"""What happens before a run begins: questions to a person at a terminal, mistakes, and nothing that stays."""

import errno
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import typer

from biasgrid.flows.cli import main
from biasgrid.warehouse.storage.errors import StorageTrouble
from support.prefect_server import migrated_home
from support.processes import BIASGRID, PATIENCE_S

GONE_S = 20.0


@pytest.fixture
def paid(scenario_file: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A scenario whose model has no server, costly enough to ask, with a Prefect home of its own."""
    monkeypatch.setenv("OPENAI_API_KEY", "no-matter")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("BIASGRID_CONFIRM_USD", "0")
    monkeypatch.setenv("PREFECT_HOME", str(migrated_home(tmp_path / "home")))
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    monkeypatch.delenv("BIASGRID_CATALOG", raising=False)
    path: Path = scenario_file(["openai/gpt-4o"])
    return path


def at_terminal(words: list[str], typed: bytes) -> tuple[int, str]:
    """Exit code and what the terminal showed, of a command whose person types an answer."""
    person, terminal = pty.openpty()
    shown = b""
    ended = subprocess.Popen(
        [*BIASGRID, *words], stdin=terminal, stderr=terminal, stdout=subprocess.DEVNULL, start_new_session=True
    )
    os.close(terminal)
    while ended.poll() is None:
        try:
            shown += os.read(person, 4096)
        except OSError:
            break
        if b"Go on?" in shown and typed:
            os.write(person, typed)
            typed = b""
    os.close(person)
    code = ended.wait()
    assert left_behind(ended.pid) is False
    return code, shown.decode()


def left_behind(session: int) -> bool:
    """Whether a process of the command's group outlives it for longer than an orderly end takes."""
    deadline = time.monotonic() + GONE_S
    while time.monotonic() < deadline:
        try:
            os.killpg(session, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.05)
    os.killpg(session, signal.SIGKILL)
    return True


@pytest.mark.drill
def test_no_leaves_nothing_sent_and_nothing_written(paid):
    data = paid.parent / "deep" / "data"
    code, shown = at_terminal(["run", str(paid), "--data", str(data)], b"n\n")
    assert code == 130
    assert "expected to cost about $" in shown
    assert "not started; nothing was sent" in shown
    assert "Traceback" not in shown
    assert not data.parent.exists()


@pytest.mark.drill
def test_no_one_is_asked_where_no_one_can_answer(paid):
    """Killed at its first line: the run itself is tested elsewhere."""
    command = [*BIASGRID, "run", str(paid), "--data", str(paid.parent / "data")]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as running:
        assert running.stderr is not None
        first = running.stderr.readline()
        running.send_signal(signal.SIGTERM)
        rest = running.stderr.read()
    assert running.returncode == 143
    assert first.startswith("openai/gpt-4o: ")
    assert "Go on?" not in rest
    assert not left_behind(running.pid)


def test_a_mistake_leaves_no_process_behind(paid):
    command = [*BIASGRID, "run", str(paid), "--model", "openai/no-such"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as ended:
        _, message = ended.communicate(timeout=PATIENCE_S)
    assert (ended.returncode, "Traceback" in message) == (2, False)
    assert message.startswith("biasgrid: 1 error")
    assert not left_behind(ended.pid)


def test_storage_that_gives_way_is_one_message_and_no_mistake(monkeypatch, capsys, tmp_path):
    def fill() -> None:
        raise StorageTrouble(tmp_path / "lake", errno.ENOSPC, "RUN", lost=2)

    app = typer.Typer()
    app.command()(fill)
    monkeypatch.setattr(sys, "argv", ["biasgrid"])
    with pytest.raises(SystemExit) as ended:
        main(app)
    output = capsys.readouterr().err
    assert ended.value.code == 3
    assert "biasgrid resume RUN" in output
    assert "put right" not in output
    assert "Traceback" not in output


def test_a_cap_on_money_without_a_price_is_a_mistake(biasgrid, paid):
    result = biasgrid("run", paid, "--model", "vllm/mine", "--max-cost", "1", "--data", paid.parent / "data")
    assert result.is_a_mistake("`vllm/mine`", "--max-cost", "prices")
    assert not (paid.parent / "data").exists()


def test_an_age_without_reuse_is_a_mistake(biasgrid, paid):
    result = biasgrid("run", paid, "--max-age", "7d", "--data", paid.parent / "data")
    assert result.is_a_mistake("--max-age", "--reuse all")


def test_batches_that_no_one_offers_are_a_mistake(biasgrid, paid):
    result = biasgrid("run", paid, "--model", "simulated/fair", "--batch", "--data", paid.parent / "data")
    assert result.is_a_mistake("--batch", "`simulated/fair`")


@pytest.mark.parametrize("words", [("--max-cost", "0"), ("--max-requests", "0"), ("--max-age", "soon")])
def test_a_cap_that_is_none_is_named_by_its_option(biasgrid, paid, words):
    assert biasgrid("run", paid, *words, "--data", paid.parent / "data").is_a_mistake(*words)
