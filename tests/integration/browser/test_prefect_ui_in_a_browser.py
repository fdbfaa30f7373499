"""The drill: a run in Prefect's UI, as a browser shows it: its graph, its artifacts, and the form of a night."""

import base64
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from biasgrid.deployments.serving import UI
from biasgrid.flows.scheduled.options import PARAMETERS
from biasgrid.warehouse.build.build import query
from biasgrid.warehouse.storage.lake import Lake
from support.flows import requirement, write_yaml
from support.paths import ROOT
from support.prefect_server import PrefectServer, ask_api, prefect_server
from support.processes import BIASGRID, clean_environment, wait_until

pytestmark = pytest.mark.drill
MODELS = ("simulated/fair", "simulated/biased")
BARS = 8
"""Task runs that are seen at least, of ten: some lie in one row of the graph."""


@dataclass(frozen=True)
class Shown:
    """A server with a run and the deployments."""

    server: PrefectServer
    lake: Lake

    @property
    def address(self) -> str:
        return self.server.api.removesuffix("/api")

    def ask(self, path: str, body: Any = None) -> Any:
        return ask_api(self.server.api, path, body)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    folder = tmp_path_factory.mktemp("ui")
    asked = {"models": [*MODELS], "templates": 8, "seed": 7, "max_tokens": 60}
    scenario = {"name": "seen", "scenario": asked, "requirements": [requirement()]}
    file = write_yaml(folder / "seen.yaml", scenario)
    with prefect_server(folder / "home", clean_environment(**UI), has_ui=True) as server:
        environment = clean_environment(
            PREFECT_HOME=str(folder / "client"), PREFECT_API_URL=server.api, BIASGRID_DATA=str(folder / "data")
        )
        deploy = ["prefect", "--no-prompt", "deploy", "--all", "--prefect-file"]
        for words in (
            [*BIASGRID, "run", str(file), "--yes"],
            [sys.executable, "-m", "biasgrid.deployments"],
            [sys.executable, "-m", *deploy, str(ROOT / "deployments" / "prefect.yaml")],
        ):
            done = subprocess.run(words, env=environment, capture_output=True, text=True)
            assert done.returncode in (0, 1), done.stderr
        yield Shown(server, Lake(folder / "data"))


def test_the_graph_of_a_run_is_drawn_with_its_task_runs(shown, tab, tmp_path):
    (run,) = shown.ask("/flow_runs/filter", {"flow_runs": {"state": {"type": {"any_": ["COMPLETED"]}}}})
    tab.size(1500, 1100)
    tab.visit(f"{shown.address}/runs/flow-run/{run['id']}", run["name"], "10 Task runs", "Finished in state")
    tab.wait("document.querySelector('canvas')")
    wait_until(lambda: count_bars(tab, tmp_path / "run.png") >= BARS, every_s=0.5)


COUNT = """
(async () => {
    const image = new Image()
    image.src = "data:image/png;base64,%s"
    await image.decode()
    const canvas = new OffscreenCanvas(image.width, image.height), drawing = canvas.getContext("2d")
    drawing.drawImage(image, 0, 0)
    const {data} = drawing.getImageData(0, 0, image.width, image.height)
    let bars = 0, above = false
    for (let y = 0; y < image.height; y++) {
        let green = 0
        for (let at = 4 * y * image.width; at < 4 * (y + 1) * image.width; at += 4) {
            green += data[at + 1] > 130 && data[at] < 80 && data[at + 2] < 110
        }
        bars += green > 4 && !above
        above = green > 4
    }
    return bars
})()
"""
"""Rows of a picture in the green of completed task runs, as many as there are bars one above the other."""


def count_bars(tab: Any, path: Path) -> int:
    tab.picture(path)
    return int(tab.ask(COUNT % base64.b64encode(path.read_bytes()).decode()))


def test_the_numbers_of_its_artifact_are_those_of_the_marts(shown, tab):
    (artifact,) = shown.ask("/artifacts/latest/filter", {"artifacts": {"key": {"any_": ["findings-seen"]}}})
    text = tab.visit(f"{shown.address}/artifacts/artifact/{artifact['latest_id']}", "findings-seen", *MODELS)
    found = query(shown.lake, "select model, rate, interval_low, interval_high from marts.requirement_findings")
    assert {row["model"] for row in found.to_dicts()} == {*MODELS}
    for row in found.to_dicts():
        line = text[text.index(row["model"]) :]
        rates = [f"{100 * row[name]:.1f}%" for name in ("rate", "interval_low", "interval_high")]
        assert line.index(rates[0]) < line.index(f"{rates[1]} to {rates[2]}")


def test_the_form_of_a_night_has_a_field_for_each_parameter(shown, tab):
    deployment = shown.ask("/deployments/name/nightly/nightly")
    fields = deployment["parameter_openapi_schema"]["properties"]
    assert {*PARAMETERS.replace(" * ", " ").split()} <= fields.keys()
    text = tab.visit(f"{shown.address}/deployments/deployment/{deployment['id']}/run", "catch_up (Optional)")
    for name in fields:
        assert f"{name} (Optional)" in text
    assert fields["max_cost"]["description"] in text
