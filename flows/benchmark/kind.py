"""Benchmarks: models against the requirements of a scenario."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from biasgrid.catalogs.choices import Gate, Reuse
from biasgrid.catalogs.errors import Problem
from biasgrid.flows.runs.kinds import Review, RunKind, Source
from biasgrid.flows.runs.options import RunOptions, option, replace_option

if TYPE_CHECKING:
    from biasgrid.catalogs.scenario.scenario import ResolvedScenario
    from biasgrid.flows.benchmark.outcome import Outcome
    from biasgrid.flows.forecast.totals import Forecast
    from biasgrid.warehouse.storage.lake import Lake

    Base = RunKind[ResolvedScenario, Forecast, Outcome]
else:
    Base = RunKind


setting = partial(option, section="scenario")


@dataclass(frozen=True, kw_only=True)
class BenchmarkOptions(RunOptions):
    """What may be given with a scenario."""

    scenario: str | dict[str, Any] | None = option(
        None,
        "",
        "A scenario file: YAML, or LangBiTe's JSON.",
        "the name of one that comes along (`starter`, `full`, …), the path of a scenario file that the "
        "worker reads (YAML, or LangBiTe's JSON), or its content as JSON",
        cli=Path,
        show_default=False,
    )
    library: str | None = setting(
        None,
        "--library",
        "Templates to use: a file or directory, LangBiTe's format included.",
        "templates in place of the shipped ones: a file or directory, LangBiTe's format included",
        cli=Path | None,
    )
    skip_broken: bool | None = setting(
        None,
        "--skip-broken",
        "Run what is sound of a library's table, and list the other rows.",
        "leaves out the broken rows of a library's table, and lists them",
    )
    models: list[str] | None = setting(
        None,
        "--model",
        "`provider/model`; may be repeated. Replaces the scenario's.",
        "`provider/model` names to test, such as `openai/gpt-4o-mini`; None: the scenario's",
    )
    reuse: Reuse | None = setting(
        None,
        "--reuse",
        "Which earlier replies stand in for asking: of this run, any, none.",
        "earlier replies that stand in for asking: of this `run` alone, when it goes on; of `all` runs; "
        "`none`. None: as the scenario has it, mostly `run`",
    )
    templates: int | None = setting(
        None,
        "--templates",
        "How many templates are asked at most, as the scenario's `sampling` counts them.",
        "how many templates are asked at most, as `sampling` counts them; None: as the scenario has it",
        min=1,
    )
    limit: int | None = setting(
        None,
        "--limit",
        "For a first try: at most so many templates of each requirement, in all.",
        "at most so many templates of each requirement, in all; None: as the scenario has it",
        min=1,
    )
    filter: list[str] | None = setting(
        None,
        "--filter",
        "Requirements alone whose name or concern is like this, such as `*gender*`; may be repeated.",
        "requirements alone whose name or concern is like one of these, such as `*gender*`",
    )
    samples: int | None = setting(
        None,
        "--samples",
        "How often each prompt is asked.",
        "how often each prompt is asked; None: as the scenario has it",
        min=1,
    )
    seed: int | None = setting(
        None,
        "--seed",
        "Chooses templates and seeds samples.",
        "chooses the templates and seeds the samples; None: the scenario's",
        min=0,
    )
    max_cost: float | None = replace_option(
        RunOptions, "max_cost", doc="US dollars that the run may spend; None: the scenario's cap, or none"
    )
    max_requests: int | None = replace_option(
        RunOptions, "max_requests", doc="requests that the run may send; None: the scenario's cap, or none"
    )
    batch: bool | None = setting(
        None,
        "--batch/--no-batch",
        "Ask through batch APIs where providers have one: cheaper, within a day.",
        "ask through the providers' batch APIs, for less money and later; None: as the scenario has it",
    )
    pictures: bool = option(
        False, doc="the artifact `pictures`: pass rates, the grid, communities and trend, drawn in some seconds"
    )
    run_id: str | None = option(
        None,
        "",
        "A run's id or its beginning or end; else the newest.",
        "resumes this unfinished run and ignores `scenario`",
    )


@dataclass(frozen=True, kw_only=True)
class AgainOptions(BenchmarkOptions):
    """What may be given where the replies of a run are judged again."""

    run_id: str | None = replace_option(
        BenchmarkOptions, "run_id", doc="the run; a beginning or end that only one has will do"
    )
    scenario: str | dict[str, Any] | None = option(
        None,
        "--scenario",
        "Whose tolerances, deltas, refusal rules and judge count from now on.",
        "whose tolerances, deltas, refusal rules and judge count from now on; the run's own where absent",
        cli=Path | None,
    )
    library: str | None = replace_option(
        BenchmarkOptions, "library", doc="templates whose oracles count from now on; the scenario's where absent"
    )
    judge: str | None = setting(
        None,
        "--judge",
        "`provider/model` that gives the second opinion.",
        "`provider/model` that gives the second opinion in place of the scenario's",
    )
    judge_passed: float | None = setting(
        None,
        "--judge-passed",
        "Share of passed replies that the judge reads, too, 0 to 1.",
        "share of the passed replies that the judge reads, too; it overrules none of them",
    )
    data: str | None = replace_option(
        RunOptions, "data", doc="directory or `s3://bucket/prefix` of the lake and the warehouse"
    )
    max_cost: float | None = replace_option(
        RunOptions, "max_cost", doc="US dollars that the run may have spent, its judge's included"
    )
    max_requests: int | None = replace_option(
        RunOptions, "max_requests", doc="requests that the run may have sent, its judge's included"
    )


class BenchmarkKind(Base):
    """Requirements in, findings out."""

    name = "benchmark"
    command = "run"
    source = "scenario"
    keys = frozenset({"scenario", "requirements"})
    called = "a scenario"
    options = BenchmarkOptions
    folders = ("templates", "requirements")
    pages = ("biasgrid.tasks.report.html.run_pages:write_run_pages", "index.html")
    pages_alone: ClassVar = {"alone": True}
    comparison = "biasgrid.flows.compare.benchmark"
    review = Review(
        replies="biasgrid.tasks.review.kinds:BENCHMARK",
        rule="passed: it answers, and the answer follows the rule. failed: the answer does not. refused: it "
        "declines to answer. unreadable: its answer is not clear. Decide by meaning, not by spelling.",
        keys="p passed · f failed · r refused · u unreadable",
        agreement="biasgrid.flows.review.agreement:show_agreement",
        has_decisions=True,
    )
    formats = ("langbite",)
    words = (
        "scenario library skip_broken models filter limit templates data reuse samples seed max_age max_cost "
        "max_requests batch * expectations gate yes"
    )
    parameters = (
        "scenario models max_cost max_requests samples seed reuse max_age batch library * expectations "
        "pictures data run_id"
    )
    help = """Test models against a scenario's requirements: plan, prompt, evaluate, aggregate.

    Exit codes: 0 every requirement met, 1 at least one not met, 2 an error to correct, 3 incomplete,
    4 undecided (with `--gate decided`), 130 interrupted (go on with `biasgrid resume`).

    Example: `biasgrid run my-scenario.yaml --limit 5 --gate decided`
    """

    def resolve(
        self, source: Source, given: RunOptions, inspect: Callable[[ResolvedScenario], Iterable[Problem]]
    ) -> ResolvedScenario:
        from biasgrid.flows.benchmark.prepare import resolve_scenario

        return resolve_scenario(source, given.file_values, inspect)

    def problems(self, resolved: ResolvedScenario) -> Iterable[Problem]:
        from biasgrid.flows.benchmark.prepare import scenario_problems

        return scenario_problems(resolved)

    def is_upper_bound(self, expected: Forecast, resolved: ResolvedScenario, lake: Lake | None) -> bool:
        return resolved.settings.reuse == "all" and lake is not None

    def check_gate(self, expected: Forecast, gate: Gate, *, yes: bool) -> None:
        from biasgrid.flows.forecast.power import refuse_undecidable

        if gate == "decided":
            refuse_undecidable(expected.power, yes=yes)

    def settle(self, lake: Lake, run_id: str) -> None:
        """Lets the judge's verdicts count where it has qualified."""
        from biasgrid.tasks.evaluate.qualification import settle_judges

        settle_judges(lake, run_id)

    def outcome(self, lake: Lake, run_id: str, *, is_checked: bool = False) -> Outcome:
        found: Outcome = self.part("outcome:read_outcome")(lake, run_id, is_checked)
        return found

    async def publish(self, lake: Lake, found: Outcome, name: str) -> None:
        await self.part("sections:publish")(lake, found, name)

    def show_stored(self, found: Outcome) -> None:
        """With a bar of how much each model passes."""
        from biasgrid.flows.results.show import show_bars
        from biasgrid.flows.terminal.console import console

        show_bars(console(), found.findings)
        self.show(found)


BENCHMARK = BenchmarkKind()
