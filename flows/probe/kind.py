"""Probes: which stereotypes a model acts on, and which it states."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from biasgrid.catalogs.errors import Problem
from biasgrid.catalogs.schema.choices import ProbeTest, Reuse
from biasgrid.flows.runs.kinds import RunKind, Source
from biasgrid.flows.runs.options import RunOptions, TargetOptions, option, revised

if TYPE_CHECKING:
    from biasgrid.catalogs.scenario.targets import ResolvedProbe
    from biasgrid.flows.probe.forecast import ProbeForecast
    from biasgrid.flows.probe.outcome import ProbeOutcome
    from biasgrid.tasks.report.model import Section
    from biasgrid.warehouse.storage.lake import Lake


@dataclass(frozen=True, kw_only=True)
class ProbeOptions(TargetOptions):
    """What may be given with a target file that is probed."""

    models: list[str] | None = revised(
        TargetOptions, "models", doc="`provider/model` names to probe; None: the target's"
    )
    pairs: int | list[str] | None = revised(TargetOptions, "pairs", section="probe")
    axes: list[str] | None = revised(TargetOptions, "axes", section="probe")
    tests: list[ProbeTest] | None = option(
        None,
        "--test",
        "May be repeated.",
        "`implicit`, `explicit`, `decision`, `counterfactual`; None: as the target has it",
        section="probe",
    )
    cases: int | None = option(
        None,
        "--cases",
        "Prompts per pair and implicit test.",
        "prompts per pair of the implicit test; None: as the target has it",
        section="probe",
        min=5,
        max=1000,
    )
    detailed: bool | None = option(
        None,
        "--detailed",
        "Ask outright even where no implicit bias was found.",
        "the explicit test follows even where no implicit bias was found",
        section="probe",
        cli=bool,
    )
    continue_on_refusal: bool | None = option(
        None,
        "--continue-on-refusal",
        "Ask outright even where most prompts were refused.",
        "it follows even where most prompts were refused",
        section="probe",
        cli=bool,
    )
    generator: str | None = option(
        None,
        "--generator",
        "A model that proposes pairs from the target's description.",
        "`provider/model` that proposes pairs from what the target file tells; None: as the target has it",
        section="probe",
    )
    seed: int | None = option(
        None,
        "--seed",
        "Chooses pairs and names.",
        "chooses pairs and names; None: the target's",
        section="asking",
        min=0,
    )
    reuse: Reuse | None = option(None, "--reuse", "Which earlier replies stand in for asking.", section="asking")
    run_id: str | None = option(None, doc="goes on with this unfinished probe, whatever `target` says")


class ProbeKind(RunKind["ResolvedProbe", "ProbeForecast", "ProbeOutcome"]):
    """Names given to attributes, and what a model says when it is asked outright."""

    name = "probe"
    command = "probe"
    source = "target"
    keys = frozenset({"target"})
    called = "a target file"
    blank: ClassVar = {"target": {}}
    flow = "biasgrid.flows.probe.flow:probe"
    trace = "biasgrid.flows.results.trace_other_kinds:trace_trials"
    reader = "biasgrid.flows.probe.flow:read_stored"
    options = ProbeOptions
    words = (
        "target models pairs axes tests languages cases detailed continue_on_refusal generator seed reuse max_age "
        "max_cost max_requests data expectations yes"
    )
    parameters = (
        "target models pairs tests cases detailed continue_on_refusal generator max_cost max_requests seed "
        "expectations data run_id"
    )
    help = """Look for stereotypes that a model acts on, whatever it says when it is asked outright.

    Names are given to attributes in many prompts; a pattern beyond chance is implicit bias. Where it shows, the
    model is asked how far it agrees with the stereotype, its contrary and its denial.

    Exit codes: 0 no bias shown, 1 a pair is biased or could not be evaluated, 2 a mistake to put right,
    3 incomplete, 130 interrupted (go on with `biasgrid resume`).
    """

    def resolve(
        self, source: Source, given: RunOptions, inspect: Callable[[ResolvedProbe], Iterable[Problem]]
    ) -> ResolvedProbe:
        from biasgrid.catalogs.scenario.targets import resolve_probe

        return resolve_probe(source, given.in_file, inspect)

    def problems(self, resolved: ResolvedProbe) -> Iterable[Problem]:
        from biasgrid.flows.probe.prepare import catalogued

        if not catalogued(resolved):
            what = "no attribute pair fits the target's axes and sectors"
            yield Problem(what, "probe.axes, target.sectors", "name other ones, or none")

    def forecast(self, resolved: ResolvedProbe, lake: Lake | None, *, brief: bool = False) -> ProbeForecast:
        from biasgrid.flows.probe.forecast import probe_forecast

        return probe_forecast(resolved, lake, brief=brief)

    def remaining(self, resolved: ResolvedProbe, lake: Lake, run_id: str) -> ProbeForecast:
        from biasgrid.flows.probe.forecast import left_of

        return left_of(self.forecast(resolved, lake, brief=True), lake, run_id)

    def is_upper_bound(self, expected: ProbeForecast, resolved: ResolvedProbe, lake: Lake | None) -> bool:
        return expected.conditional > 0

    def show_forecast(self, expected: ProbeForecast, resolved: ResolvedProbe) -> None:
        from biasgrid.flows.probe.sections import show_probe_forecast

        show_probe_forecast(expected)

    def announce(
        self, expected: ProbeForecast, resolved: ResolvedProbe, *, is_resumed: bool, at_most: bool
    ) -> None:
        from biasgrid.flows.probe.sections import announce_probe

        announce_probe(expected, resolved.settings, is_resumed=is_resumed)

    def outcome(self, lake: Lake, run_id: str, *, is_checked: bool = False) -> ProbeOutcome:
        from biasgrid.flows.probe.outcome import probe_outcome

        return probe_outcome(lake, run_id)

    async def publish(self, lake: Lake, found: ProbeOutcome, name: str) -> None:
        from biasgrid.flows.probe.sections import publish

        await publish(found, name)

    def sections(self, found: ProbeOutcome) -> Iterable[Section]:
        from biasgrid.flows.probe.sections import sections

        return sections(found)


PROBE = ProbeKind()
