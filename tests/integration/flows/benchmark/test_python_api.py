"""The Python API in a script of a user: one exception a kind, no line of a log, subflows in flows. The README's
first scenario ends as the README shows.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from biasgrid.flows.cli.start import init
from support.paths import ROOT
from support.prefect_server import migrated_home
from support.processes import clean_environment

pytestmark = pytest.mark.drill

MISTAKEN = """
from biasgrid import Benchmark, UserError
try:
    Benchmark("nope.yaml", data="data").run()
except UserError as mistake:
    print(str(mistake).splitlines()[0])
"""
NESTED = """
import asyncio, sys
from biasgrid import Benchmark
from prefect import flow
from prefect.client.orchestration import get_client

@flow
async def mine():
    return Benchmark(sys.argv[1], data="data").run()

async def look():
    async with get_client() as client:
        return {run.name: run.parent_task_run_id is not None for run in await client.read_flow_runs()}

asyncio.run(mine())
print([is_nested for name, is_nested in asyncio.run(look()).items() if name.startswith("benchmark")])
"""


def run_script(folder: Path, script: str, *words: object) -> tuple[str, str]:
    environment = clean_environment(
        PREFECT_HOME=str(migrated_home(folder / "home")), PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS="120"
    )
    command = [sys.executable, "-c", script, *map(str, words)]
    ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout, ended.stderr


def test_a_mistake_is_one_exception_and_no_line_of_a_log(tmp_path):
    assert run_script(tmp_path, MISTAKEN) == ("nope.yaml: cannot be read: No such file or directory\n", "")


def test_a_run_within_a_flow_is_its_subflow(tmp_path, scenario_file):
    assert run_script(tmp_path, NESTED, scenario_file(["simulated/fair"]))[0] == "[True]\n"


ASKED = ("models", "concerns", "languages", "tolerance", "templates")


def test_the_first_scenario_ends_as_the_readme_shows(shell):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```text\n(.*?)^```", readme, re.DOTALL | re.MULTILINE)
    mine = shell("readme", COLUMNS="80", NO_COLOR="1")
    init(file=mine.folder / "my-scenario.yaml", yes=True, **dict.fromkeys(ASKED))
    code, out, err = mine.finish("run", mine.folder / "my-scenario.yaml")
    assert code == 1, err
    assert shown in out
