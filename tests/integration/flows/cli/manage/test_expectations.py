"""`biasgrid warehouse check` and `run --expectations`."""

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from biasgrid.warehouse.storage.lake import Lake
from support.processes import BIASGRID, wait_until

FINDINGS = "select model, point_finding from marts.requirement_findings order by all"


@pytest.mark.drill
def test_a_check_shows_every_table_and_keeps_what_is_as_expected(biasgrid, lake):
    lake.database.unlink()
    result = biasgrid("warehouse", "check", "--data", lake.root)
    assert (result.code, result.err) == (0, "")
    assert "lake.verdicts" in result.out
    assert "marts.pass_rates" in result.out
    assert result.out.endswith(f"pages  {lake.root}/expectations/index.html\n")
    assert biasgrid("sql", FINDINGS, "--data", lake.root).code == 0


@pytest.mark.drill
def test_what_is_not_as_expected_is_named_and_the_old_warehouse_answers(biasgrid, lake, finished):
    before = biasgrid("sql", FINDINGS, "--data", lake.root)
    rows = lake.read("verdicts", finished.run_id).filter(pl.col("level") == "instance").head(1)
    stray = rows.with_columns(case_id=pl.lit("gone"), verdict_id=pl.lit("stray"))
    lake.write("verdicts", finished.run_id, "stray", stray)
    result = biasgrid("warehouse", "check", "--data", lake.root)
    assert result.code == 3
    assert result.err.startswith("biasgrid: not everything is as expected, and the warehouse stays as it was\n")
    assert "`lake.verdicts`: never: the case that was judged is not there: 1 row: " in result.err
    assert f"`{finished.run_id} · stray`" in result.err
    assert "stray.parquet" in result.err
    assert "Traceback" not in result.err
    assert biasgrid("sql", FINDINGS, "--data", lake.root) == before


def test_a_data_directory_that_is_not_there_is_a_mistake(biasgrid, tmp_path):
    result = biasgrid("warehouse", "check", "--data", tmp_path / "nowhere")
    assert result.is_a_mistake("there is no data directory")


@pytest.fixture
def typed(scenario_file: Any) -> Callable[..., list[str]]:
    """The command in a process of its own, on a small scenario: `typed(data, model)`."""

    def words(data: Path, model: str = "simulated/fair", **settings: Any) -> list[str]:
        path = scenario_file([model], **settings)
        return [*BIASGRID, "run", str(path), "--data", str(data), "--expectations"]

    return words


def begun_by(parent: int) -> set[int]:
    """The processes that check expectations for a run: other drills have theirs."""
    return {number for number in checking_processes() if _parent_of(number) == parent}


def _parent_of(number: int) -> int | None:
    try:
        result = Path(f"/proc/{number}/stat").read_text()
    except OSError:
        return None
    return int(result.rpartition(")")[2].split()[1])


def checking_processes() -> list[int]:
    """The processes on this machine that check expectations."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if b"biasgrid.warehouse.expectations" in words:
            found.append(int(path.parent.name))
    return found


@pytest.mark.drill
def test_a_run_replaces_the_warehouse_only_if_all_is_as_expected(typed, tmp_path):
    data = tmp_path / "data"
    first = subprocess.run(typed(data), capture_output=True, text=True, timeout=120)
    assert first.returncode in (0, 4), first.stderr
    assert (data / "expectations" / "index.html").exists()
    assert "/expectations/index.html" in first.stdout
    lake = Lake(data)
    (run_id,) = lake.runs()
    before = lake.database.stat().st_ino
    lake.write("responses", run_id, "again", lake.read("responses", run_id).head(1))
    second = subprocess.run(typed(data), capture_output=True, text=True, timeout=120)
    assert second.returncode == 3
    assert "biasgrid: not everything is as expected, and the warehouse stays as it was" in second.stderr
    assert "`lake.responses`: one row per run_id × response_id: 1 row: " in second.stderr
    assert "Traceback" not in second.stderr
    assert lake.database.stat().st_ino == before
    assert lake.newest("runs")["state"].to_list() == ["completed", "failed"]


@pytest.mark.drill
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_run_leaves_no_one_behind(typed, tmp_path, overlay, end):
    overlay(respondents=({"id": "slow", "description": "Takes its time.", "latency_ms": 2000},))
    with subprocess.Popen(
        typed(tmp_path / "data", "simulated/slow", templates=10, samples=20),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=dict(os.environ),
    ) as process:
        mine = wait_until(lambda: begun_by(process.pid))
        process.send_signal(end)
        process.wait(60)
    wait_until(lambda: not mine & set(checking_processes()))
