"""Providers in trouble: a wrong key ends one model and nothing else; faults that pass cost nothing but time."""

import asyncio
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from biasgrid.flows.api import Benchmark
from biasgrid.flows.benchmark.flow import benchmark
from biasgrid.flows.benchmark.sections import sections
from biasgrid.flows.runs.outcome import INCOMPLETE
from biasgrid.flows.terminal.tables import show_sections
from support.flows import provider_at

pytestmark = [pytest.mark.drill, pytest.mark.usefixtures("prefect_api")]

KEYED, OPEN = "openai/gpt-4o-mini", "gateway/fair"
WRONG, RIGHT = "wrong-key", "sk-qX7vT2mK9wLp4RzN8cJd5bYs"
AT_ONCE = 4


def files_with(data: Path, secret: str) -> list[Path]:
    return [path for path in data.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]


def models_at(base_url: str) -> dict[str, Any]:
    """A gateway that needs no key, next to OpenAI's own with few requests at once."""
    slow = {"name": "gpt-4o-mini", "limits": {"concurrency": AT_ONCE}}
    return {"providers": {"gateway": provider_at(base_url)}, "models": {KEYED: slow}}


def test_a_wrong_key_ends_its_model_at_once_and_a_right_one_lets_the_run_go_on(
    scenario, serve, overlay, landed, recorded, monkeypatch, tmp_path, capfd
):
    server = serve("fair")
    overlay(models_at(server.base_url))
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.base_url}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", WRONG)
    data = tmp_path / "data"

    outcome = Benchmark(scenario([KEYED, OPEN], templates=6), data=data).run()
    run = landed(data, outcome.run_id)
    planned = run.table("cases").filter(pl.col("model") == KEYED).height

    assert 1 <= len(server.prompts("gpt-4o-mini")) <= AT_ONCE < planned / 4
    assert len(server.prompts("fair")) == planned
    answered = run.replies.filter(pl.col("text").is_not_null())
    assert dict(answered.group_by("model").len().iter_rows()) == {OPEN: planned}
    assert set(run.replies.filter(pl.col("model") == KEYED)["error_class"]) == {"KeyRejected"}
    cells = run.lake.newest("cells", outcome.run_id)
    assert dict(cells.select("model", "state").unique().iter_rows()) == {KEYED: "stopped", OPEN: "prompted"}

    assert (outcome.exit_code, run.state) == (INCOMPLETE, "incomplete")
    (reason, count), *_ = outcome.failures
    assert (reason.partition(":")[0], count) == ("KeyRejected", planned)
    assert "key" in reason
    show_sections(sections(outcome))
    output = " ".join(capfd.readouterr().out.split())
    assert "INCOMPLETE" in output
    assert f"{planned} × KeyRejected" in output
    assert f"biasgrid resume {outcome.run_id}" in output
    complete = {row["model"]: row["is_complete"] for row in outcome.findings}
    assert complete == {KEYED: False, OPEN: True}

    shown = recorded(outcome.run_id, task_runs=1 + 2 * 4 + 2)
    assert shown.states("prompt") == ["Completed", "Completed", "Stopped", "Stopped"]
    result = [*shown.logs, str(shown.flow_run), *map(str, shown.task_runs), *outcome.failures[0][:1]]
    assert not [text for text in result if WRONG in text]
    assert files_with(data, WRONG) == []

    monkeypatch.setenv("OPENAI_API_KEY", RIGHT)
    resumed = asyncio.run(benchmark(run_id=outcome.run_id, data=str(data)))

    assert (resumed.run_id, resumed.incomplete, run.state) == (outcome.run_id, False, "completed")
    assert resumed.failures == []
    assert len(server.prompts("fair")) == planned
    replies = run.replies.filter(pl.col("text").is_not_null())
    assert replies["request_key"].n_unique() == replies.height == 2 * planned
    findings = {row["model"]: (row["passed"], row["tests"]) for row in resumed.findings}
    assert findings[KEYED] == findings[OPEN]
    shown = recorded(outcome.run_id, task_runs=2 * (2 + 1) + 1)  # cells with all their replies share a task run
    result = [*shown.logs, str(shown.flow_run), *map(str, shown.task_runs), *capfd.readouterr()]
    assert not [text for text in result if RIGHT in text or WRONG in text]
    assert files_with(data, RIGHT) == []


@pytest.fixture
def shaky(gateway: Any) -> Any:
    """A fair respondent behind a poor connection; what stalls is given up after a moment."""
    faults = {"rate_limited": 0.2, "server_fault": 0.1, "timed_out": 0.05, "disconnected": 0.1, "stall_s": 0.1}
    return gateway("shaky", faults=faults)


def test_faults_that_pass_leave_every_reply_landed_once(shaky, scenario, landed, tmp_path):
    outcome = Benchmark(scenario(["gateway/shaky"], retries=4), data=tmp_path).run()
    run = landed(tmp_path, outcome.run_id)
    assert outcome.exit_code == 0
    assert run.replies["error_class"].null_count() == run.replies.height == run.table("cases").height
    assert run.replies["request_key"].n_unique() == run.replies.height
    assert len(shaky.bodies) == run.replies["attempts"].sum() > run.replies.height


def test_without_retries_a_failure_is_a_row_and_an_outcome_of_its_own(shaky, scenario, landed, tmp_path):
    outcome = Benchmark(scenario(["gateway/shaky"], retries=0), data=tmp_path).run()
    run = landed(tmp_path, outcome.run_id)
    failed = run.replies.filter(pl.col("error_class").is_not_null())
    assert outcome.exit_code == INCOMPLETE
    assert run.replies.height == len(shaky.bodies) == run.table("cases").height
    assert set(run.replies["attempts"]) == {1}
    assert set(failed["error_class"]) == {"RateLimited", "ServerFault", "Disconnected"}
    errors = run.outcomes().filter(pl.col("outcome") == "error")
    (finding,) = outcome.findings
    assert errors.height == failed.height == finding["planned_cases"] - finding["judged_cases"]
    assert sum(count for _, count in outcome.failures) == failed.height
