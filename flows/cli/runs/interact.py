"""`interact`: whether models share out tasks as stereotypes have it, alone and talking to each other."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn

import typer

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.flows.cli.options import (
    INTERACTION,
    Data,
    Expectations,
    MaxCost,
    MaxRequests,
    Yes,
    how_many_or_which,
    refuse_other_files,
)
from biasgrid.flows.cli.running import at_once, confirmed, left_as_it_was, ran

if TYPE_CHECKING:
    from biasgrid.flows.interaction.prepare import PreparedInteraction
    from biasgrid.warehouse.storage.lake import Lake
    from biasgrid.warehouse.storage.runs import Run

FLOW = "biasgrid.flows.interaction.flow:interaction"
UNDESCRIBED: Final[dict[str, Any]] = {"interaction": {}}
"""In place of a file: models alone, and everything as is usual."""


class SettingName(StrEnum):
    no_interaction, no_goal, goal = "no_interaction", "no_goal", "goal"
    understanding = "understanding"


class MitigationName(StrEnum):
    none, reflection = "none", "reflection"
    reflection_with_examples = "reflection_with_examples"


def interact(
    interaction: Annotated[
        Path | None, typer.Argument(help="An interaction file: who talks what over.", show_default=False)
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option("--model", help="`provider/model`; may be repeated. Replaces the file's models and casts."),
    ] = None,
    setting: Annotated[
        list[SettingName] | None, typer.Option("--setting", help="May be repeated; by default the first three.")
    ] = None,
    mitigation: Annotated[
        list[MitigationName] | None, typer.Option("--mitigation", help="May be repeated; none by default.")
    ] = None,
    domain: Annotated[
        list[str] | None,
        typer.Option("--domain", help="Scenes of it, such as `office`; may be repeated."),
    ] = None,
    axis: Annotated[
        list[str] | None, typer.Option("--axis", help="Scenes of it, such as `gender`; may be repeated.")
    ] = None,
    scenes: Annotated[
        list[str] | None,
        typer.Option("--scenes", help="How many scenes, `all`, or one by name; then it may be repeated."),
    ] = None,
    language: Annotated[
        list[str] | None, typer.Option("--language", help="Such as `en_us`; may be repeated.")
    ] = None,
    runs: Annotated[
        int | None, typer.Option("--runs", min=1, max=100, help="How often each scene is played.")
    ] = None,
    protocol: Annotated[
        str | None, typer.Option("--protocol", help="The rounds of a talk: `study`, `brief`, or one of your own.")
    ] = None,
    tuned: Annotated[
        list[str] | None,
        typer.Option("--tuned", help="MODEL=BASE, of two models that play: what tuning changed is tested."),
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", min=0, help="Chooses scenes, names, and orders.")] = None,
    max_cost: MaxCost = None,
    max_requests: MaxRequests = None,
    data: Data = None,
    expectations: Expectations = False,
    yes: Yes = False,
) -> None:
    """See whether models share out tasks as stereotypes have it, and whether talking makes it worse.

    People of a scene, told apart by gender, age or origin alone, share out its tasks: one model by itself, or an
    agent for each of them over rounds of talk. The share of stereotypical assignments less that of
    anti-stereotypical ones is set against what chance would give. Every reply lands as it arrives.

    Exit codes: 0 no score shows bias, 1 at least one does, or could not be evaluated, 2 a mistake to put right,
    3 incomplete, 130 interrupted (go on with `biasgrid resume`).
    """
    from biasgrid.flows.runs.prepare import earlier_lake, open_lake

    if interaction is None and not model:
        raise UserError(Problem("nothing is named", remedy="name an interaction file, or a model by `--model`"))
    given: dict[str, Any] = {
        "models": model or None,
        "settings": [each.value for each in setting] if setting else None,
        "mitigations": [each.value for each in mitigation] if mitigation else None,
        "domains": domain or None,
        "axes": axis or None,
        "scenes": "all" if scenes == ["all"] else how_many_or_which(scenes),
        "languages": language or None,
        "runs": runs,
        "protocol": protocol,
        "tuned": _bases(tuned or []),
        "seed": seed,
        "max_cost": max_cost,
        "max_requests": max_requests,
    }
    with at_once():
        refuse_other_files(interaction, INTERACTION)
        prepared = _prepared(interaction or UNDESCRIBED, **given)
        earlier = earlier_lake(data)
        with left_as_it_was(data):
            lake = open_lake(data)
            _agreed(prepared, earlier, yes=yes)
        finish_interaction(
            prepared,
            interaction=str(interaction) if interaction else UNDESCRIBED,
            data=lake.named,
            models=model,
            expectations=expectations,
        )


def _bases(given: list[str]) -> dict[str, str] | None:
    """By tuned model. Raises UserError where one names no base."""
    wrong = [one for one in given if not all(one.partition("="))]
    if wrong:
        remedy = "write it as `MODEL=BASE`, such as `local/tuned=local/base`"
        raise UserError([Problem(f"`{one}` names no base", "--tuned", remedy) for one in wrong])
    return {model: base for model, _, base in (one.partition("=") for one in given)} or None


def resume_interaction(
    lake: Lake,
    run: Run,
    max_cost: float | None,
    max_requests: int | None,
    *,
    expectations: bool,
    yes: bool,
) -> NoReturn:
    """Go on with an interaction that is not through, in mid-conversation."""
    prepared = _prepared(run.scenario_resolved, max_cost=max_cost, max_requests=max_requests)
    _agreed(prepared, lake, run_id=run.run_id, yes=yes)
    finish_interaction(prepared, run_id=run.run_id, data=lake.named, expectations=expectations)


def _prepared(source: Any, **given: Any) -> PreparedInteraction:
    from biasgrid.flows.interaction.prepare import overrides, prepare_interaction
    from biasgrid.flows.operations.secrets import secret_blocks

    return prepare_interaction(source, overrides(**given), secret_blocks())


def _agreed(prepared: PreparedInteraction, lake: Lake | None, *, run_id: str | None = None, yes: bool) -> None:
    """Tells what is to be sent and, where that is much, asks. Ends the command where the answer is no."""
    from biasgrid.flows.interaction.forecast import interaction_forecast, left_of
    from biasgrid.flows.interaction.forecast_view import announce_interaction

    resolved = prepared.resolved
    expected = left_of(resolved, lake, run_id) if run_id and lake else interaction_forecast(resolved, lake)
    announce_interaction(expected, resolved.settings, is_resumed=run_id is not None)
    confirmed(expected.whole, resolved.settings, yes=yes)


def finish_interaction(prepared: PreparedInteraction, flow: str = FLOW, **parameters: Any) -> NoReturn:
    """Run a flow of interactions with progress on the terminal, show what it found and exit as it ended."""
    from biasgrid.flows.interaction.findings_view import show_interaction

    found = ran(prepared, flow, **parameters)
    show_interaction(found)
    raise typer.Exit(found.exit_code)
