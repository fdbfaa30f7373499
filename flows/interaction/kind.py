"""Interactions: whether models share out tasks as stereotypes have it, alone and talking to each other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from biasgrid.catalogs.choices import Mitigation, Setting
from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.flows.runs.kinds import RunKind
from biasgrid.flows.runs.options import RunOptions, number_or_names, option, seed_option, source_option

if TYPE_CHECKING:
    from biasgrid.catalogs.scenario.interaction import ResolvedInteraction
    from biasgrid.flows.interaction.forecast import InteractionForecast
    from biasgrid.flows.interaction.outcome import InteractionOutcome

    Base = RunKind[ResolvedInteraction, InteractionForecast, InteractionOutcome]
else:
    Base = RunKind


def scenes_or_all(given: list[str] | None) -> int | str | list[str] | None:
    return "all" if given == ["all"] else number_or_names(given)


def bases_by_model(given: list[str] | None) -> dict[str, str] | None:
    """MODEL=BASE as a mapping. Raises UserError where one names no base."""
    named = given or []
    wrong = [one for one in named if not all(one.partition("="))]
    if wrong:
        remedy = "write it as `MODEL=BASE`, such as `local/tuned=local/base`"
        raise UserError([Problem(f"`{one}` names no base", "--tuned", remedy) for one in wrong])
    return {model: base for model, _, base in (one.partition("=") for one in named)} or None


file_option = partial(option, section="interaction")


@dataclass(frozen=True, kw_only=True)
class InteractionOptions(RunOptions):
    """What may be given with an interaction file."""

    interaction: str | dict[str, Any] | None = source_option(
        "An interaction file: who talks what over.", "an interaction file"
    )
    models: list[str] | None = file_option(
        None,
        "--model",
        "`provider/model`; may be repeated. Replaces the file's models and casts.",
        "`provider/model` names, each to play all people of its scenes; None: the file's models and casts",
    )
    settings: list[Setting] | None = file_option(
        None,
        "--setting",
        "May be repeated; by default the first three.",
        "no_interaction, no_goal, goal, understanding; None: as the file has it",
    )
    mitigations: list[Mitigation] | None = file_option(
        None,
        "--mitigation",
        "May be repeated; none by default.",
        "none, reflection, reflection_with_examples; None: as the file has it",
    )
    domains: list[str] | None = file_option(
        None,
        "--domain",
        "Scenes of it, such as `office`; may be repeated.",
        "of catalogs/scenes; None: as the file has it",
    )
    axes: list[str] | None = file_option(
        None,
        "--axis",
        "Scenes of it, such as `gender`; may be repeated.",
        "only scenes whose people differ in these; None: as the file has it",
    )
    scenes: int | Literal["all"] | list[str] | None = file_option(
        None,
        "--scenes",
        "How many scenes, `all`, or one by name; then it may be repeated.",
        "how many scenes, `all`, or which ones; None: as the file has it",
        cli=list[str] | None,
        read=scenes_or_all,
    )
    languages: list[str] | None = file_option(
        None, "--language", "Such as `en_us`; may be repeated.", "such as `en_us`; None: the file's"
    )
    runs: int | None = file_option(
        None, "--runs", "How often each scene is played.", "how often each scene is played", min=1, max=100
    )
    protocol: str | None = file_option(
        None,
        "--protocol",
        "The rounds of a talk: `study`, `brief`, or one of your own.",
        "of catalogs/protocols; None: the file's",
    )
    tuned: dict[str, str] | None = file_option(
        None,
        "--tuned",
        "MODEL=BASE, of two models that play: what tuning changed is tested.",
        cli=list[str] | None,
        read=bases_by_model,
    )
    bound: float | None = file_option(
        None,
        "--bound",
        "Distance from chance that scores must stay below; else nothing is met.",
        "bound of the scores' distance from chance; None: as the file has it",
    )
    seed: int | None = seed_option("chooses scenes, names, and orders", "the file's")
    run_id: str | None = option(None, doc="resumes this unfinished interaction and ignores `interaction`")


class InteractionKind(Base):
    """People of scenes share out tasks."""

    name = "interaction"
    command = "interact"
    source = "interaction"
    keys = frozenset({"interaction"})
    called = "an interaction file"
    blank: ClassVar = {"interaction": {}}
    trace = "biasgrid.flows.results.trace:trace_plays"
    labels: ClassVar = {"requirement": "domain", "template": "scene", "case": "play"}
    reader = "biasgrid.flows.interaction.flow:read_cells"
    resolver = "biasgrid.catalogs.scenario.interaction:resolve_interaction"
    options = InteractionOptions
    folders = ("people", "scenes", "tuning", "interaction", "protocols")
    table = ("interaction-scores", "scores")
    pages = ("biasgrid.tasks.report.html.interaction_pages:write_interaction_pages", "report.html")
    words = (
        "interaction models settings mitigations domains axes scenes languages runs protocol tuned bound seed "
        "max_cost max_requests patience data expectations yes"
    )
    parameters = (
        "interaction models domains axes scenes settings mitigations languages runs protocol max_cost "
        "max_requests seed patience expectations data run_id"
    )
    help = """See whether models share out tasks as stereotypes have it, and whether talking makes it worse.

    People of a scene, who differ in gender, age or origin alone, share out its tasks: one model by itself, or an
    agent for each of them over rounds of talk. The share of stereotypical assignments less that of
    anti-stereotypical ones is set against what chance would give. Every reply lands as it arrives.

    Exit codes: 0 no score shows bias (with a bound: proven to be below it), 1 at least one does, or could not be
    evaluated, 2 an error to correct, 3 incomplete, 4 not proven to be below the bound, 130 interrupted (go on with
    `biasgrid resume`).

    Example: `biasgrid interact my-interaction.yaml`
    """

    def problems(self, resolved: ResolvedInteraction) -> Iterable[Problem]:
        for target in resolved.asked:
            if target.endpoint and target.endpoint.remembers != "none":
                what = f"`{target.model}` keeps its conversations itself: agents of one scene would share a memory"
                yield Problem(what, "interaction.models", "describe it with `remembers: none`, or leave it out")


INTERACTION = InteractionKind()
