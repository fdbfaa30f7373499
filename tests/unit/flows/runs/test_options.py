import logging
from dataclasses import dataclass
from inspect import signature
from unittest.mock import Mock, call

import pytest

from biasgrid.flows.api import Benchmark
from biasgrid.flows.benchmark.flow import benchmark
from biasgrid.flows.benchmark.kind import BENCHMARK, BenchmarkOptions, setting
from biasgrid.flows.benchmark.stages_as_flows import GENERATE, generate_run
from biasgrid.flows.cli.run_commands import command_of
from biasgrid.flows.cli.serve import WORDS, serve
from biasgrid.flows.runs.options import command, expand_names, flow_parameters, keywords, list_settings
from biasgrid.flows.runs.progress_artifacts import ModelProgress
from biasgrid.flows.scheduled.flow import nightly
from biasgrid.flows.scheduled.options import PARAMETERS


@dataclass(frozen=True, kw_only=True)
class LabelledOptions(BenchmarkOptions):
    label: str | None = setting(None, "--label", "A word to find the run by.", "a word to find the run by")


@pytest.mark.parametrize(
    "taken",
    [
        signature(command_of(BENCHMARK)).parameters,
        signature(serve).parameters,
        Benchmark.__signature__.parameters,
        *(flow.parameters.properties for flow in (benchmark, nightly, generate_run)),
    ],
    ids=["run", "serve", "Benchmark", "benchmark", "nightly", "generate"],
)
def test_every_setting_of_a_scenario_can_be_given(taken):
    assert set(list_settings(BenchmarkOptions)) <= set(taken)


@pytest.mark.parametrize("names", [BENCHMARK.words, BENCHMARK.parameters, PARAMETERS, GENERATE, WORDS])
def test_a_new_setting_needs_no_further_list(names):
    known, listed = expand_names(BenchmarkOptions, names), expand_names(LabelledOptions, names)
    assert [name for name in listed if name not in known] == ["label"]
    assert [name for name in listed if name != "label"] == known


def test_a_new_setting_is_an_option_a_keyword_and_a_parameter():
    @command(LabelledOptions, "scenario *")
    def start(given: LabelledOptions) -> None: ...

    @flow_parameters(LabelledOptions, "scenario *")
    async def flow(given: LabelledOptions) -> None: ...

    assert "label" in signature(start).parameters
    assert "label: a word to find the run by" in (flow.__doc__ or "")
    assert "label" in signature(flow).parameters
    assert "label" in keywords(LabelledOptions, "*", []).parameters


def test_a_new_setting_replaces_the_value_of_the_file():
    given = LabelledOptions(label="mine", data="elsewhere")
    assert given.pick("data", "*") == {"data": "elsewhere", "label": "mine", **given.file_values}
    assert given.file_values == {"label": "mine"}


@pytest.fixture
def progress() -> ModelProgress:
    progress = ModelProgress(logging.getLogger("progress"))
    progress.on_plan("R1", {"a/x": 4, "b/y": 1})
    return progress


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, "progress")
    return caplog


def test_a_model_is_logged_once_when_its_last_case_is_finished(progress, log):
    for outcome in ("answered", "answered", "kept"):
        progress.on_case("a/x", outcome, 0.25)
    assert (progress.standings["a/x"].percent, log.messages) == (75.0, [])
    progress.on_case("a/x", "failed")
    assert log.messages == ["a/x: 4 of 4 cases: 2 answered, 1 kept, 1 failed, $0.75"]


def test_a_model_that_stops_is_logged_once_whichever_of_its_cells_reports_it(progress, log):
    progress.on_stop("b/y", "the key was rejected")
    progress.on_stop("b/y", "the key was rejected")
    assert [(record.levelname, record.message) for record in log.records] == [
        ("WARNING", "b/y is stopped: the key was rejected")
    ]
    assert str(progress.standings["b/y"]).endswith("; stopped: the key was rejected")


def test_an_earlier_listener_receives_everything():
    seen = Mock()
    progress = ModelProgress(logging.getLogger("progress"), seen)
    progress.on_plan("R1", {"a/x": 1})
    progress.on_case("a/x", "answered", None)
    progress.on_stop("a/x", "why")
    progress.on_wait("for slots")
    landed = call.on_case("a/x", "answered", None)
    planned, stopped = call.on_plan("R1", {"a/x": 1}), call.on_stop("a/x", "why")
    assert seen.mock_calls == [planned, landed, stopped, call.on_wait("for slots")]
