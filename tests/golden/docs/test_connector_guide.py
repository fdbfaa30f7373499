"""The connector of the guide to connectors works when it is installed as a distribution of its own."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.guides import blocks_of, install
from support.http_server import address_of, listening

BLOCKS = blocks_of("connectors.md")
RUN = "from biasgrid.flows.cli.process import run; run()"
NAMES = ("pyproject.toml", "company_chat.py", "models.yaml")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(tmp_path_factory.mktemp("guide"), NAMES, BLOCKS)


@pytest.fixture
def check(installed, tmp_path):
    """Runs `biasgrid connector check company/assistant` against a server that sends `body`."""

    def run(body):
        received = []

        def answer(handler, sent):
            received.append((handler.headers["Authorization"], json.loads(sent)))
            return 200, {"Content-Type": "application/json"}, body

        with listening(answer) as server:
            models = (installed / "models.yaml").read_text(encoding="utf-8")
            (tmp_path / "models.yaml").write_text(models.replace("http://127.0.0.1:8765", address_of(server)))
            paths = {"PYTHONPATH": str(installed / "site"), "BIASGRID_CATALOG": str(tmp_path)}
            done = subprocess.run(
                [sys.executable, "-c", RUN, "connector", "check", "company/assistant"],
                env=os.environ | paths | {"COMPANY_CHAT_KEY": "key-of-the-company"},
                capture_output=True,
                text=True,
                check=False,
            )
        return done, received

    return run


@pytest.mark.drill
def test_it_keeps_the_contract_that_the_guide_states(check):
    done, received = check(b'{"answer": "Yes", "tokens": 9}')
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("sends up to 6 real requests to company/assistant\nok")
    assert "broken" not in done.stdout
    assert 5 <= len(received) <= 6
    assert received[0][0] == "Bearer key-of-the-company"
    assert received[1][1]["temperature"] == 0.0


@pytest.mark.drill
def test_what_it_does_wrong_is_located_in_its_file(check):
    done, received = check(b'{"answer": 5}')
    assert done.returncode == 2
    assert len(received) == 1
    assert "returned `Reply(text=5)` in place of a `Reply` with a text" in done.stdout
    assert re.search(r"company_chat\.py:\d+", done.stdout)
