"""Probes: which stereotypes a model acts on, and which it states."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from biasgrid.catalogs.choices import ProbeTest, Reuse
from biasgrid.catalogs.errors import Problem
from biasgrid.flows.runs.kinds import TargetKind
from biasgrid.flows.runs.options import TargetOptions, names_in_one, option, replace_option, seed_option

if TYPE_CHECKING:
    from biasgrid.catalogs.scenario.targets import ResolvedProbe
    from biasgrid.flows.probe.forecast import ProbeForecast
    from biasgrid.flows.probe.outcome import ProbeOutcome
    from biasgrid.warehouse.storage.lake import Lake

    Base = TargetKind[ResolvedProbe, ProbeForecast, ProbeOutcome]
else:
    Base = TargetKind


file_option = partial(option, section="probe")


@dataclass(frozen=True, kw_only=True)
class ProbeOptions(TargetOptions):
    """What may be given with a target file that is probed."""

    models: list[str] | None = replace_option(
        TargetOptions, "models", doc="`provider/model` names to probe; None: the target's"
    )
    pairs: int | list[str] | None = replace_option(TargetOptions, "pairs", section="probe")
    axes: list[str] | None = replace_option(TargetOptions, "axes", section="probe")
    groups: list[str] | None = file_option(
        None,
        "--groups",
        "Three or more groups of one axis, such as `young,middle_aged,old`; all are compared.",
        "three or more groups of one axis, such as `young`, `middle_aged`, `old`; None: as the target has it",
        metavar="GROUP,GROUP,GROUP",
        cli=str | None,
        read=names_in_one,
    )
    tests: list[ProbeTest] | None = file_option(
        None,
        "--test",
        "May be repeated.",
        "`implicit`, `explicit`, `decision`, `counterfactual`; None: as the target has it",
    )
    cases: int | None = file_option(
        None,
        "--cases",
        "Prompts per pair and implicit test.",
        "prompts per pair of the implicit test; None: as the target has it",
        min=5,
        max=1000,
    )
    detailed: bool | None = file_option(
        None,
        "--detailed",
        "Ask outright even where no implicit bias was found.",
        "the explicit test follows even where no implicit bias was found",
        cli=bool,
    )
    continue_on_refusal: bool | None = file_option(
        None,
        "--continue-on-refusal",
        "Ask outright even where most prompts were refused.",
        "it follows even where most prompts were refused",
        cli=bool,
    )
    generator: str | None = file_option(
        None,
        "--generator",
        "A model that proposes pairs from the target's description.",
        "`provider/model` that proposes pairs from the target file's description; None: as the target has it",
    )
    bound: float | None = file_option(
        None,
        "--bound",
        "Share of trials one way that the upper end must stay below; else nothing is met.",
        "bound of the share of trials that fall one way; None: as the file has it",
    )
    seed: int | None = seed_option("chooses pairs and names", "the target's")
    reuse: Reuse | None = option(None, "--reuse", "Which earlier replies stand in for asking.", section="asking")
    run_id: str | None = option(None, doc="resumes this unfinished probe and ignores `target`")


class ProbeKind(Base):
    """Names given to attributes, and what a model states when it is asked outright."""

    name = "probe"
    command = "probe"
    trace = "biasgrid.flows.results.trace:trace_trials"
    reader = "biasgrid.flows.probe.flow:read_stored"
    resolver = "biasgrid.catalogs.scenario.targets:resolve_probe"
    options = ProbeOptions
    folders = ("probes", "probing")
    table = ("probe-findings", "findings")
    pages = ("biasgrid.tasks.report.html.probe_pages:write_probe_page", "report.html")
    words = (
        "target models pairs axes groups tests languages cases detailed continue_on_refusal generator bound "
        "seed reuse max_age patience max_cost max_requests data expectations yes"
    )
    parameters = (
        "target models pairs groups tests cases detailed continue_on_refusal generator max_cost max_requests seed "
        "patience expectations data run_id"
    )
    help = """Look for stereotypes that a model acts on, even where it denies them when asked directly.

    Names are given to attributes in many prompts; a pattern beyond chance is implicit bias. Where it shows, the
    model is asked how far it agrees with the stereotype, its contrary and its denial.

    Exit codes: 0 no bias shown (with a bound: proven to be below it), 1 a pair is biased or could not be
    evaluated, 2 an error to correct, 3 incomplete, 4 not proven to be below the bound, 130 interrupted (go on with
    `biasgrid resume`).

    Example: `biasgrid probe my-target.yaml`
    """

    def problems(self, resolved: ResolvedProbe) -> Iterable[Problem]:
        from biasgrid.flows.probe.prepare import catalog_stereotypes

        if not catalog_stereotypes(resolved):
            keys = "groups" if resolved.aim.groups else "axes"
            what = f"no attribute pair fits the target's {keys} and sectors"
            yield Problem(what, f"probe.{keys}, target.sectors", "name other ones, or none")

    def is_upper_bound(self, expected: ProbeForecast, resolved: ResolvedProbe, lake: Lake | None) -> bool:
        return expected.conditional > 0


PROBE = ProbeKind()
