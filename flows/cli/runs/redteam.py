"""`redteam`: whether conversations lead a model or a chatbot into biased replies."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from biasgrid.flows.cli.options import (
    TARGET,
    UNDESCRIBED,
    Axes,
    Data,
    Expectations,
    Languages,
    MaxCost,
    MaxRequests,
    Pairs,
    TargetModels,
    TargetPath,
    Yes,
    how_many_or_which,
    refuse_nothing,
    refuse_other_files,
)
from biasgrid.flows.cli.running import at_once, confirmed, left_as_it_was, ran

if TYPE_CHECKING:
    from biasgrid.flows.redteam.prepare import PreparedAttack
    from biasgrid.warehouse.storage.lake import Lake
    from biasgrid.warehouse.storage.runs import Run

FLOW = "biasgrid.flows.redteam.flow:redteam"


class Strategy(StrEnum):
    one_shot, direct, separated, selection = "one_shot", "direct", "separated", "selection"
    implicit_separated, crescendo, persona = "implicit_separated", "crescendo", "persona"


def redteam(
    target: TargetPath = None,
    model: TargetModels = None,
    strategy: Annotated[
        list[Strategy] | None, typer.Option("--strategy", help="May be repeated; all by default.")
    ] = None,
    attacker: Annotated[
        str | None, typer.Option("--attacker", help="The model that writes messages, as `provider/model`.")
    ] = None,
    judge: Annotated[
        str | None, typer.Option("--judge", help="The model that judges replies, as `provider/model`.")
    ] = None,
    pairs: Pairs = None,
    axis: Axes = None,
    language: Languages = None,
    sessions: Annotated[
        int | None, typer.Option("--sessions", min=1, max=100, help="Conversations per pair and strategy.")
    ] = None,
    turns: Annotated[
        int | None, typer.Option("--turns", min=1, max=50, help="Most messages of a conversation.")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", min=0, help="Chooses pairs, names and openings.")] = None,
    max_cost: MaxCost = None,
    max_requests: MaxRequests = None,
    data: Data = None,
    expectations: Expectations = False,
    yes: Yes = False,
) -> None:
    """Try to lead a model or a chatbot into biased replies.

    An attacker writes messages by strategies, one shot or many turns; a judge sees what comes back, pairs of
    messages beside each other, and explains what is biased about it. Every turn lands as it arrives.

    Exit codes: 0 no attack succeeded, 1 at least one did, or nobody could tell, 2 a mistake to put right,
    3 incomplete, 130 interrupted (go on with `biasgrid resume`).
    """
    from biasgrid.flows.runs.prepare import earlier_lake, open_lake

    refuse_nothing(target, model)
    given: dict[str, Any] = {
        "models": model or None,
        "strategies": [each.value for each in strategy] if strategy else None,
        "attacker": attacker,
        "judge": judge,
        "pairs": how_many_or_which(pairs),
        "axes": axis or None,
        "languages": language or None,
        "sessions": sessions,
        "turns": turns,
        "seed": seed,
        "max_cost": max_cost,
        "max_requests": max_requests,
    }
    with at_once():
        refuse_other_files(target, TARGET)
        prepared = _prepared(target or UNDESCRIBED, **given)
        earlier = earlier_lake(data)
        with left_as_it_was(data):
            lake = open_lake(data)
            _agreed(prepared, earlier, yes=yes)
        _finish(
            prepared,
            target=str(target) if target else UNDESCRIBED,
            data=lake.named,
            models=model,
            expectations=expectations,
        )


def resume_redteam(
    lake: Lake,
    run: Run,
    max_cost: float | None,
    max_requests: int | None,
    *,
    expectations: bool,
    yes: bool,
) -> NoReturn:
    """Go on with a red team that is not through, in mid-conversation."""
    prepared = _prepared(run.scenario_resolved, max_cost=max_cost, max_requests=max_requests)
    _agreed(prepared, lake, run_id=run.run_id, yes=yes)
    _finish(prepared, run_id=run.run_id, data=lake.named, expectations=expectations)


def _prepared(source: Any, **given: Any) -> PreparedAttack:
    from biasgrid.flows.operations.secrets import secret_blocks
    from biasgrid.flows.redteam.prepare import overrides, prepare_attack

    return prepare_attack(source, overrides(**given), secret_blocks())


def _agreed(prepared: PreparedAttack, lake: Lake | None, *, run_id: str | None = None, yes: bool) -> None:
    """Tells what is to be sent and, where that is much, asks. Ends the command where the answer is no."""
    from biasgrid.flows.redteam.forecast import attack_forecast, left_of
    from biasgrid.flows.redteam.forecast_view import announce_attack

    resolved = prepared.resolved
    expected = left_of(resolved, lake, run_id) if run_id and lake else attack_forecast(resolved, lake)
    announce_attack(expected, resolved, is_resumed=run_id is not None)
    confirmed(expected.resisted, resolved.settings, yes=yes)


def _finish(prepared: PreparedAttack, **parameters: Any) -> NoReturn:
    from biasgrid.flows.redteam.findings_view import show_attacks

    found = ran(prepared, FLOW, **parameters)
    show_attacks(found)
    raise typer.Exit(found.exit_code)
