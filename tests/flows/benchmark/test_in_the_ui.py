"""What people see of runs in the Prefect UI: names, tags, artifacts and the lines of the log."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import LogFilter

from catalogs.mistakes import UserMistake
from flows.benchmark import benchmark
from flows.rejudging import evaluate_again

pytestmark = [
    pytest.mark.usefixtures("prefect_api"),
    # Prefect asks the server for its result storage twice a flow run and never closes that client
    pytest.mark.filterwarnings("ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning"),
]
ODD = "alike_*all*|x"
CELLS = 2


@pytest.fixture
def drift(overlay: Callable[..., Path]) -> Callable[[float], None]:
    """A respondent that fails so many of its replies."""

    def write(failing: float) -> None:
        drifting = {"id": "drifting", "description": "Drifts.", "failures": {"default": failing}}
        overlay({}, respondents=(drifting,))

    return write


async def lines(flow_run_id: Any) -> list[tuple[str, str]]:
    """Level and message of everything that a flow run and its tasks log."""
    only = LogFilter.model_validate({"flow_run_id": {"any_": [str(flow_run_id)]}})
    async with get_client() as client:
        found = await client.read_logs(only, limit=200)
    return [({20: "info", 30: "warning", 40: "error"}[log.level], log.message) for log in found]


async def newest() -> Any:
    from prefect.client.schemas.sorting import FlowRunSort

    async with get_client() as client:
        (found,) = await client.read_flow_runs(sort=FlowRunSort.START_TIME_DESC, limit=1)
    return found


async def test_two_nights_are_told_in_names_tags_artifacts_and_a_few_lines(
    drift: Callable[[float], None], scenario: Any, requirement: Any, recorded: Any, tmp_path: Path
) -> None:
    asked = scenario(["simulated/drifting"], [requirement(name=ODD)], templates=8)
    drift(0.0)
    first = await benchmark(asked, data=str(tmp_path / "data"))
    shown = recorded(first.run_id, task_runs=1 + 2 * CELLS + 1)
    assert {"progress-simulated-drifting", "findings", "summary"} == set(shown.artifacts)
    assert shown.flow_run.state.message == f"run {first.run_id}: 1 of 1 requirements met"
    assert {f"run:{first.run_id}", f"requirement:{ODD}", "simulated/drifting", "sexism"} <= set(
        shown.flow_run.tags
    )
    tags = {run.name.partition(" ")[0]: set(run.tags) for run in shown.task_runs}
    assert set(tags) == {"generate", "prompt", "evaluate", "aggregate"}
    assert all(f"run:{first.run_id}" in own for own in tags.values())
    assert {"simulated/drifting", "sexism", "en_us", f"requirement:{ODD}"} <= tags["prompt"]

    told = await lines(shown.flow_run.id)
    cases = json.loads(shown.artifacts["findings"])[0]["requirement"], first.findings[0]["planned_cases"]
    assert cases[0] == r"alike\_\*all\*\|x"
    assert ("info", f"run {first.run_id}: {cases[1]} cases in {CELLS} cells, of 1 model") in told
    assert ("info", f"simulated/drifting: {cases[1]} of {cases[1]} cases: {cases[1]} answered, 0 failed") in told
    assert any(re.fullmatch(r"the warehouse is built in \d+\.\d s", message) for _, message in told)
    assert len(told) <= 5
    assert all(level == "info" for level, _ in told)

    drift(0.9)
    second = await benchmark(asked, data=str(tmp_path / "data"))
    shown = recorded(second.run_id, task_runs=1 + 2 * CELLS + 1)
    assert set(shown.artifacts) == {
        "progress-simulated-drifting",
        "findings",
        "summary",
        "regressions",
        "trend",
    }
    assert r"- **alike\_\*all\*\|x** of simulated/drifting passes" in shown.artifacts["regressions"]
    assert "| **worse** |" in shown.artifacts["trend"]
    assert f"biasgrid compare {first.run_id} {second.run_id} --data" in shown.artifacts["summary"]

    again = await evaluate_again(second.run_id, data=str(tmp_path / "data"))
    assert again.run_id == second.run_id
    assert (await newest()).name == f"evaluate again · {second.run_id}"


async def test_a_mistake_ends_a_flow_in_words_without_a_traceback(tmp_path: Path) -> None:
    with pytest.raises(UserMistake, match="strater"):
        await benchmark("strater", data=str(tmp_path / "data"))
    ended = await newest()
    assert (ended.name, ended.state.name) == ("benchmark · strater", "Failed")
    assert "did you mean `starter`?" in ended.state.message
    told = await lines(ended.id)
    assert [level for level, _ in told].count("error") == 2  # ours, and Prefect's of the state
    assert not [message for _, message in told if "Traceback" in message]


async def test_a_flow_without_a_scenario_says_what_to_name() -> None:
    with pytest.raises(UserMistake, match="run_id"):
        await benchmark()
