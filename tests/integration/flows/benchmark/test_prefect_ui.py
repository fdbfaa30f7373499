"""What people see of runs in the Prefect UI: names, tags, artifacts and the lines of the log."""

import json
import logging
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.sorting import FlowRunSort
from prefect.settings import get_current_settings

from biasgrid.catalogs.errors import UserError
from biasgrid.flows.benchmark.flow import benchmark
from biasgrid.flows.benchmark.kind import BENCHMARK
from biasgrid.flows.benchmark.stages_as_flows import evaluate_again
from biasgrid.flows.runs.context import tag

pytestmark = pytest.mark.usefixtures("prefect_api")
ODD = "alike_*all*|x"
CELLS = 2
LOGS = ("prefect.flow_runs", "prefect.task_runs")


@pytest.fixture
def drift(overlay: Callable[..., Path]) -> Callable[[float], None]:
    """A respondent that fails so many of its replies."""

    def write(failing: float) -> None:
        drifting = {"id": "drifting", "description": "Drifts.", "failures": {"default": failing}}
        overlay({}, respondents=(drifting,))

    return write


@pytest.fixture
def log_lines(caplog: pytest.LogCaptureFixture) -> Callable[[], list[tuple[str, str]]]:
    """Level and message of everything that flows and their tasks have logged for people since the last time."""
    caplog.set_level(logging.INFO, "prefect")

    def take() -> list[tuple[str, str]]:
        result = [(one.levelname, one.message) for one in caplog.records if one.name in LOGS and not one.exc_info]
        assert not [one for one in caplog.records if one.exc_info]
        caplog.clear()
        return [line for line in result if not line[1].startswith("View at")]

    return take


def graph_edges(flow_run_id: Any) -> dict[str, set[tuple[str, ...]]]:
    """Verbs of the parents of each task run in the graph of Prefect's UI, by its own verb."""
    with get_client(sync_client=True) as client:
        nodes = dict(client.request("GET", f"/flow_runs/{flow_run_id}/graph-v2").json()["nodes"])
    verbs = {key: node["label"].partition(" ")[0] for key, node in nodes.items()}
    edges: dict[str, set[tuple[str, ...]]] = {}
    for key, node in nodes.items():
        parents = {parent["id"] for parent in node["parents"]}  # Prefect's answer repeats them
        edges.setdefault(verbs[key], set()).add(tuple(verbs[parent] for parent in parents))
    return edges


async def newest() -> Any:
    async with get_client() as client:
        (found,) = await client.read_flow_runs(sort=FlowRunSort.START_TIME_DESC, limit=1)
    return found


@pytest.mark.drill
async def test_two_nights_are_reported_in_names_tags_artifacts_and_a_few_lines(
    drift, scenario, requirement, recorded, log_lines, tmp_path
):
    asked = scenario(["simulated/drifting"], [requirement(name=ODD)], templates=8)
    drift(0.0)
    first = await benchmark(asked, data=str(tmp_path / "data"))
    shown = recorded(first.run_id, task_runs=1 + 2 * CELLS + 1)
    named = {"findings-small", "summary-small", "grid-small"}
    assert {"progress-simulated-drifting", *named} == set(shown.artifacts)
    edges = graph_edges(shown.flow_run.id)
    assert edges["prompt"] == {("generate",)}
    assert edges["evaluate"] == {("prompt",)}
    assert edges["aggregate"] == {("evaluate",) * CELLS}
    assert shown.flow_run.state.message == f"run {first.run_id}: 0 of 1 requirements met, 1 by the point rate"
    assert {f"run:{first.run_id}", f"requirement:{ODD}", "simulated/drifting", "sexism"} <= set(
        shown.flow_run.tags
    )
    tags = {run.name.partition(" ")[0]: set(run.tags) for run in shown.task_runs}
    assert set(tags) == {"generate", "prompt", "evaluate", "aggregate"}
    assert all(f"run:{first.run_id}" in own for own in tags.values())
    assert {"simulated/drifting", "sexism", "en_us", f"requirement:{ODD}"} <= tags["prompt"]

    (row,) = json.loads(shown.artifacts["findings-small"])
    assert row["requirement"] == r"alike\_\*all\*\|x"
    begins, planned, through, built, ends = log_lines()
    cases = first.findings[0]["planned_cases"]
    assert begins[1].startswith("Beginning flow run")
    assert planned == ("INFO", f"run {first.run_id}: {cases} cases in {CELLS} cells, of 1 model")
    assert through == ("INFO", f"simulated/drifting: {cases} of {cases} cases: {cases} answered, 0 failed")
    assert re.fullmatch(r"the warehouse is built in \d+\.\d s", built[1])
    assert ends == ("INFO", f"Finished in state Completed('{shown.flow_run.state.message}')")

    drift(0.9)
    second = await benchmark(asked, data=str(tmp_path / "data"))
    shown = recorded(second.run_id, task_runs=1 + 2 * CELLS + 1)
    named |= {"regressions-small", "trend-small"}
    assert set(shown.artifacts) == {"progress-simulated-drifting", *named}
    assert r"- **alike\_\*all\*\|x** of simulated/drifting passes" in shown.artifacts["regressions-small"]
    assert "| **worse** |" in shown.artifacts["trend-small"]
    assert f"biasgrid compare {first.run_id} {second.run_id} --data" in shown.artifacts["summary-small"]

    again = await evaluate_again(second.run_id, data=str(tmp_path / "data"))
    assert again.run_id == second.run_id
    assert (await newest()).name == f"evaluate again · {second.run_id}"


@pytest.mark.drill
async def test_a_mistake_ends_a_flow_in_words_without_a_traceback(log_lines, tmp_path):
    with pytest.raises(UserError, match="strater"):
        await benchmark("strater", data=str(tmp_path / "data"))
    ended = await newest()
    assert (ended.name, ended.state.name) == ("benchmark · strater", "Failed")
    assert "did you mean `starter`?" in ended.state.message
    _, ours, of_the_state = log_lines()
    assert ours == ("ERROR", ended.state.message)
    assert of_the_state[0] == "ERROR"


@pytest.mark.drill
async def test_a_flow_without_a_scenario_states_what_to_name():
    with pytest.raises(UserError, match="run_id"):
        await benchmark()


async def test_a_run_of_very_many_requirements_has_no_more_tags_than_its_state_can_change_with(
    scenario, requirement
):
    many = [requirement(name=f"fair-{number}") for number in range(150)]
    asked = BENCHMARK.prepare(scenario(["simulated/fair"], many)).resolved

    @flow(name="tagged")
    async def tagged() -> None:
        await tag("01", asked)

    await tagged()
    tags = (await newest()).tags
    assert {"run:01", "simulated/fair", "sexism", "en_us"} <= set(tags)
    others = len(("flow", "deployment", "work pool", "work queue", "automation"))
    assert len(tags) + others <= get_current_settings().server.events.maximum_related_resources
