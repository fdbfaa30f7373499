"""Output in encodings that cannot hold all of it: plainer marks for people, escapes in data, never a traceback."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

PROGRAM = "import sys; from biasgrid.flows.cli import main; sys.argv[0] = 'biasgrid'; main()"


def _run(encoding: str, *words: str) -> Any:
    settings = {**os.environ, "PYTHONIOENCODING": encoding, "COLUMNS": "80", "NO_COLOR": "1"}
    done = subprocess.run([sys.executable, "-c", PROGRAM, *words], capture_output=True, env=settings, check=False)
    assert b"Traceback" not in done.stderr
    return done


@pytest.mark.drill
@pytest.mark.parametrize(("encoding", "marks"), [("ascii", "#."), ("cp1252", "#·"), ("utf-8", "█·")])
def test_the_picture_of_a_library_has_bars_of_other_marks(encoding, marks):
    done = _run(encoding, "catalog", "stats", "--language", "en_us", "--tolerance", "0.99")
    assert done.returncode == 0
    printed = done.stdout.decode(encoding)
    assert marks in printed
    assert "\\u" not in printed
    assert max(map(len, printed.splitlines())) <= 82  # `…` is three signs long in ASCII


@pytest.mark.parametrize("words", [("plan", "starter"), ("plan", "startr"), ("--help",)])
def test_whatever_people_read_can_be_written(words):
    done = _run("ascii", *words)
    assert done.returncode == (2 if "startr" in words else 0)
    assert done.stdout + done.stderr


def test_data_is_escaped_and_json_stays_json():
    program = (
        "import polars as pl; from biasgrid.flows.terminal.encoding import set_plain_output\n"
        "from biasgrid.flows.terminal.tables import show_rows\n"
        "set_plain_output(); show_rows(pl.DataFrame({'text': ['a … 中😀']}), 'json')"
    )
    settings = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, env=settings, check=True)
    assert done.stdout.strip() == rb'[{"text":"a \u2026 \u4e2d\ud83d\ude00"}]'
    assert json.loads(done.stdout) == [{"text": "a … 中😀"}]
