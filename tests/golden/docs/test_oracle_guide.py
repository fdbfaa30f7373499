"""The operation of the guide to oracles works when it is installed as a distribution of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from biasgrid.warehouse.storage.lake import Lake
from support.guides import blocks_of, install

BLOCKS = blocks_of("oracles.md")
NAMES = ("pyproject.toml", "word_count.py", "words.yaml", "scenario.yaml")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(tmp_path_factory.mktemp("guide"), NAMES, BLOCKS)


def _biasgrid(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    python_path = os.pathsep.join(filter(None, [str(folder / "site"), os.environ.get("PYTHONPATH", "")]))
    return subprocess.run(
        [sys.executable, "-c", "from biasgrid.flows.cli.process import run; run()", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": python_path, "BIASGRID_DATA": str(folder / "data"), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_blocks_are_those_files():
    assert [kind for kind, _ in BLOCKS] == ["toml", "python", "yaml", "yaml"]


@pytest.mark.drill
def test_a_scenario_is_run_judged_evaluated_again_and_reported(installed):
    done = _biasgrid(installed, "run", "scenario.yaml", "--yes")
    assert done.returncode == 1, done.stdout + done.stderr
    lake = Lake.open(installed / "data")
    verdicts = lake.read("verdicts")
    own = verdicts.filter(assessor="wordCount", level="instance")
    cells = own.join(lake.read("cases").select("case_id", "cell_id", "model").unique(), on=["case_id", "cell_id"])
    outcomes = {
        model: set(part["outcome"]) for (model,), part in cells.partition_by("model", as_dict=True).items()
    }
    assert outcomes["simulated/biased"] >= {"failed"}
    assert outcomes["simulated/constant-no"] == {"passed"}
    assert outcomes["simulated/refuser"] == {"refused"}
    failed = own.filter(outcome="failed").row(0, named=True)
    assert failed["reason"] == "21 words, the limit 20"
    assert failed["parsed_value"] == 21
    judged = lake.read("assessments").filter(assessor_kind="model")
    assert judged.height > 0
    asked = lake.read("responses").filter(purpose="judge")["messages"].to_list()
    assert any("The rule: The reply has at most 20 words." in turn["content"] for one in asked for turn in one)

    run_id = own["run_id"][0]
    again = _biasgrid(installed, "evaluate", run_id)
    assert again.returncode == 1, again.stdout + again.stderr
    report = _biasgrid(installed, "report", run_id, "--format", "json", "--out", str(installed / "report"))
    assert report.returncode == 0, report.stdout + report.stderr


def test_wrong_parameters_are_reported_with_their_line(installed):
    wrong = (installed / "words.yaml").read_text(encoding="utf-8").replace("at_most: 20", "at_least: 20")
    (installed / "wrong.yaml").write_text(wrong, encoding="utf-8")
    checked = _biasgrid(installed, "catalog", "check", "--library", "wrong.yaml")
    assert checked.returncode == 2
    assert "wrong.yaml:9" in checked.stdout + checked.stderr
    assert "`oracle.parameters.at_most` is missing" in checked.stdout + checked.stderr
    assert "`oracle.parameters.at_least` is not a known key" in checked.stdout + checked.stderr


def test_the_library_passes_the_checks_of_a_catalog(installed):
    checked = _biasgrid(installed, "catalog", "check", "--library", "words.yaml")
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_without_the_package_the_operation_is_unknown(installed, tmp_path):
    text = (installed / "words.yaml").read_text(encoding="utf-8")
    (tmp_path / "words.yaml").write_text(text, encoding="utf-8")
    checked = _biasgrid(tmp_path, "catalog", "check", "--library", "words.yaml")
    assert checked.returncode == 2
    assert "`oracle.operation` is `wordCount`: must be `equal`, `different`" in checked.stdout + checked.stderr
