from dataclasses import dataclass
from inspect import signature

import pytest

from biasgrid.flows.api import Benchmark
from biasgrid.flows.benchmark.flow import benchmark
from biasgrid.flows.benchmark.kind import BENCHMARK, BenchmarkOptions, setting
from biasgrid.flows.benchmark.stages_as_flows import GENERATE, generate_run
from biasgrid.flows.cli.run_commands import command_of
from biasgrid.flows.cli.serve import WORDS, serve
from biasgrid.flows.runs.options import command, expand_names, flow_parameters, keywords, list_settings
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
