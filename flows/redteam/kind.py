"""Red teams: whether conversations lead a model or a chatbot into biased replies."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from biasgrid.catalogs.errors import Problem
from biasgrid.catalogs.schema.choices import StrategyName
from biasgrid.flows.runs.kinds import RunKind, Source
from biasgrid.flows.runs.options import RunOptions, TargetOptions, option, revised

if TYPE_CHECKING:
    from biasgrid.catalogs.scenario.targets import ResolvedAttack
    from biasgrid.flows.redteam.forecast import AttackForecast
    from biasgrid.flows.redteam.outcome import AttackOutcome
    from biasgrid.tasks.report.model import Section
    from biasgrid.warehouse.storage.lake import Lake


@dataclass(frozen=True, kw_only=True)
class AttackOptions(TargetOptions):
    """What may be given with a target file that is attacked."""

    models: list[str] | None = revised(
        TargetOptions, "models", doc="`provider/model` names to attack; None: the target's"
    )
    pairs: int | list[str] | None = revised(TargetOptions, "pairs", section="redteam")
    axes: list[str] | None = revised(TargetOptions, "axes", section="redteam")
    strategies: list[StrategyName] | None = option(
        None,
        "--strategy",
        "May be repeated; all by default.",
        "one_shot, direct, separated, selection, implicit_separated, crescendo, persona; None: as the "
        "target has it",
        section="redteam",
    )
    attacker: str | None = option(
        None,
        "--attacker",
        "The model that writes messages, as `provider/model`.",
        "the model that writes messages; None: the target's",
        section="redteam",
    )
    judge: str | None = option(
        None,
        "--judge",
        "The model that judges replies, as `provider/model`.",
        "the model that judges replies; None: the target's",
        section="redteam",
    )
    sessions: int | None = option(
        None,
        "--sessions",
        "Conversations per pair and strategy.",
        "conversations per pair and strategy",
        section="redteam",
        min=1,
        max=100,
    )
    turns: int | None = option(
        None,
        "--turns",
        "Most messages of a conversation.",
        "most messages of a conversation that lasts",
        section="redteam",
        min=1,
        max=50,
    )
    seed: int | None = option(
        None,
        "--seed",
        "Chooses pairs, names and openings.",
        "chooses pairs, names and openings; None: the target's",
        section="asking",
        min=0,
    )
    run_id: str | None = option(None, doc="goes on with this unfinished red team, whatever `target` says")


class AttackKind(RunKind["ResolvedAttack", "AttackForecast", "AttackOutcome"]):
    """Run kind in which an attacker converses with the target and a judge evaluates its replies."""

    name = "redteam"
    command = "redteam"
    source = "target"
    keys = frozenset({"target"})
    called = "a target file"
    blank: ClassVar = {"target": {}}
    flow = "biasgrid.flows.redteam.flow:redteam"
    trace = "biasgrid.flows.results.trace_other_kinds:trace_sessions"
    options = AttackOptions
    words = (
        "target models strategies attacker judge pairs axes languages sessions turns seed max_cost max_requests "
        "data expectations yes"
    )
    parameters = (
        "target models strategies attacker judge pairs sessions turns max_cost max_requests seed expectations "
        "data run_id"
    )
    help = """Try to lead a model or a chatbot into biased replies.

    An attacker writes messages by strategies, one shot or many turns; a judge sees what comes back, pairs of
    messages beside each other, and explains what is biased about it. Every turn lands as it arrives.

    Exit codes: 0 no attack succeeded, 1 at least one did, or nobody could tell, 2 a mistake to put right,
    3 incomplete, 130 interrupted (go on with `biasgrid resume`).
    """

    def resolve(
        self, source: Source, given: RunOptions, inspect: Callable[[ResolvedAttack], Iterable[Problem]]
    ) -> ResolvedAttack:
        from biasgrid.catalogs.scenario.targets import resolve_attack

        return resolve_attack(source, given.in_file, inspect)

    def problems(self, resolved: ResolvedAttack) -> Iterable[Problem]:
        from biasgrid.flows.redteam.prepare import planned

        if not any(True for _ in planned("unplanned", resolved)):
            what = "no attribute pair fits the target's languages, axes and sectors"
            yield Problem(what, "redteam.axes, target.sectors", "name other ones, or none")

    def forecast(self, resolved: ResolvedAttack, lake: Lake | None, *, brief: bool = False) -> AttackForecast:
        from biasgrid.flows.redteam.forecast import attack_forecast

        return attack_forecast(resolved, lake)

    def remaining(self, resolved: ResolvedAttack, lake: Lake, run_id: str) -> AttackForecast:
        from biasgrid.flows.redteam.forecast import left_of

        return left_of(resolved, lake, run_id)

    def show_forecast(self, expected: AttackForecast, resolved: ResolvedAttack) -> None:
        from biasgrid.flows.redteam.sections import show_attack_forecast

        show_attack_forecast(expected, resolved)

    def announce(
        self, expected: AttackForecast, resolved: ResolvedAttack, *, is_resumed: bool, at_most: bool
    ) -> None:
        from biasgrid.flows.redteam.sections import announce_attack

        announce_attack(expected, resolved, is_resumed=is_resumed)

    def outcome(self, lake: Lake, run_id: str, *, is_checked: bool = False) -> AttackOutcome:
        from biasgrid.flows.redteam.outcome import attack_outcome

        return attack_outcome(lake, run_id)

    async def publish(self, lake: Lake, found: AttackOutcome, name: str) -> None:
        from biasgrid.flows.redteam.sections import publish

        await publish(found, name)

    def sections(self, found: AttackOutcome) -> Iterable[Section]:
        from biasgrid.flows.redteam.sections import sections

        return sections(found)


RED_TEAM = AttackKind()
