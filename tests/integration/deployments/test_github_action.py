"""The GitHub Action does what it declares: its steps are run as a runner does, with GitHub's API on loopback."""

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.http_server import Answer, address_of, listening
from support.paths import ROOT

FOLDER = ROOT / "deployments" / "github"
ACTION = yaml.safe_load((FOLDER / "action.yml").read_text(encoding="utf-8"))
STEPS = ACTION["runs"]["steps"]
STATED = re.compile(r"\$\{\{\s*inputs\.([\w-]+)\s*\}\}")
SCENARIO = """\
scenario:
  models: [simulated/fair]
  templates: 1
requirements:
  - {name: genders, concern: sexism, languages: [en_us], tolerance: 0.9}
"""


def test_what_a_caller_states_is_never_text_of_a_shell():
    assert ACTION["runs"]["using"] == "composite"
    for step in STEPS:
        assert "${{" not in step["run"], step["name"]
        assert step["shell"] == "bash"


def test_every_input_is_described_and_used():
    used = set(re.findall(r"inputs\.([\w-]+)", (FOLDER / "action.yml").read_text(encoding="utf-8")))
    assert used == set(ACTION["inputs"])
    assert all(each["description"] for each in ACTION["inputs"].values())


class Api:
    """GitHub's comments of one pull request; `status` is that of requests that write."""

    def __init__(self) -> None:
        self.comments: list[dict[str, Any]] = [{"id": n, "body": "hello"} for n in range(130)]
        self.calls: list[tuple[str, str]] = []
        self.status = 200

    def answer(self, request: Any, body: bytes) -> Answer:
        assert request.headers["Authorization"] == "Bearer a-token"
        self.calls.append((request.command, request.path))
        reply: Any = {}
        if request.command == "GET":
            page = int(re.search(r"&page=(\d+)", request.path)[1])
            reply = self.comments[100 * (page - 1) : 100 * page]
        elif self.status == 200 and request.command == "POST":
            self.comments.append({"id": len(self.comments), "body": json.loads(body)["body"]})
        elif self.status == 200:
            self.comments[int(request.path.rpartition("/")[2])]["body"] = json.loads(body)["body"]
        return self.status if request.command != "GET" else 200, {}, json.dumps(reply).encode()


class Runner:
    """Runs the steps of the action one after the other, as far as the conditions here go."""

    def __init__(self, folder: Path, address: str) -> None:
        self.folder = folder
        event = {"pull_request": {"number": 7}}
        (folder / "event.json").write_text(json.dumps(event), encoding="utf-8")
        self.environment = {
            **{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
            "RUNNER_TEMP": str(folder),
            "GITHUB_ACTION_PATH": str(FOLDER),
            "GITHUB_API_URL": address,
            "GITHUB_REPOSITORY": "someone/something",
            "GITHUB_EVENT_PATH": str(folder / "event.json"),
            "GITHUB_OUTPUT": str(folder / "output"),
            "GITHUB_STEP_SUMMARY": str(folder / "step-summary.md"),
        }

    def run(self, **stated: str) -> subprocess.CompletedProcess[str]:
        """The last step that ran."""
        (self.folder / "output").write_text("", encoding="utf-8")
        inputs = {name: str(each.get("default", "")) for name, each in ACTION["inputs"].items()}
        inputs |= {"command": str(Path(sys.executable).parent / "biasgrid"), "token": "a-token", **stated}
        for step in STEPS[1:]:  # the first installs what is installed here
            if "exit-code != '2'" in step.get("if", "") and self.outputs()["exit-code"] == "2":
                continue
            done = self.step(step, inputs)
            if done.returncode:
                break
        return done

    def step(self, step: Mapping[str, Any], inputs: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        outputs = self.outputs()
        own = {
            name: STATED.sub(lambda found: inputs[found[1]], text).replace(
                "${{ steps.run.outputs.exit-code }}", outputs.get("exit-code", "")
            )
            for name, text in step.get("env", {}).items()
        }
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.folder,
            env=self.environment | own,
            capture_output=True,
            text=True,
            check=False,
        )

    def outputs(self) -> dict[str, str]:
        lines = (self.folder / "output").read_text(encoding="utf-8").splitlines()
        return dict(line.split("=", 1) for line in lines)


@pytest.fixture
def api() -> Api:
    return Api()


@pytest.mark.drill
def test_the_answer_is_commented_once_and_the_exit_code_fails_the_job(tmp_path, api):
    (tmp_path / "mine.yaml").write_text(SCENARIO, encoding="utf-8")
    with listening(api.answer) as server:
        runner = Runner(tmp_path, address_of(server))
        assert runner.run(scenario="mine.yaml", gate="point").returncode == 0
        comment = api.comments[-1]["body"]
        assert "is shown to meet" in comment or "not proven" in comment
        assert "`biasgrid trace" not in comment or "simulated/fair" in comment
        assert (
            comment.splitlines()[1] == (tmp_path / "step-summary.md").read_text(encoding="utf-8").splitlines()[0]
        )
        assert ET.parse(tmp_path / "reports" / "junit.xml").getroot().tag == "testsuites"
        # the next push: another model, whose failures fail the job, in the same comment
        last = runner.run(scenario="mine.yaml", gate="point", models="simulated/biased\nsimulated/constant-no\n")
        assert (last.returncode, runner.outputs()) == (1, {"exit-code": "1"})
        assert len(api.comments) == 131
        assert "simulated/biased" in api.comments[-1]["body"]
        assert [method for method, _ in api.calls if method != "GET"] == ["POST", "PATCH"]


@pytest.mark.drill
def test_a_mistake_is_commented_as_no_answer_and_names_run_no_commands(tmp_path, api):
    hostile = '$(touch stolen)"; touch stolen #.yaml'
    with listening(api.answer) as server:
        runner = Runner(tmp_path, address_of(server))
        last = runner.run(scenario=hostile, models="`touch stolen`\n$(touch stolen)", data="$(touch stolen)")
        assert last.returncode == 2
        assert not (tmp_path / "stolen").exists()
        assert "there is no answer" in api.comments[-1]["body"]
        assert "touch" not in api.comments[-1]["body"]


def test_a_token_that_may_not_write_is_a_warning(tmp_path, api):
    api.status = 403
    (tmp_path / "output").write_text("exit-code=0\n", encoding="utf-8")
    (tmp_path / "summary.md").write_text("## biasgrid: all well\n", encoding="utf-8")
    with listening(api.answer) as server:
        runner = Runner(tmp_path, address_of(server))
        inputs = {"scenario": "mine.yaml", "reports": ".", "token": "a-token"}
        done = runner.step(next(step for step in STEPS if "Comment" in step["name"]), inputs)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("::warning title=biasgrid::The answer was not commented: HTTP Error 403")
    assert "a-token" not in done.stdout
    assert len(api.comments) == 130


def test_a_long_answer_is_cut_between_lines(tmp_path, api):
    (tmp_path / "output").write_text("exit-code=1\n", encoding="utf-8")
    (tmp_path / "summary.md").write_text("## biasgrid\n" + "a row\n" * 20_000, encoding="utf-8")
    with listening(api.answer) as server:
        inputs = {"scenario": "mine.yaml", "reports": ".", "token": "a-token"}
        Runner(tmp_path, address_of(server)).step(STEPS[3], inputs)
    body = api.comments[-1]["body"]
    assert len(body) < 65_536
    assert re.search(r"a row\n\n… [\d]+ more lines: the job's summary has them", body)
