"""How a target is attacked, as its file says."""

from __future__ import annotations

from typing import get_args

from pydantic import Field

from catalogs.attacks import StrategyName
from catalogs.frozen import Frozen
from catalogs.schema import Identifier

STRATEGIES: tuple[StrategyName, ...] = get_args(StrategyName)


class RedTeam(Frozen):
    """How a target is attacked."""

    attacker: str | None = None
    """The model that writes messages; `provider/model`. One-shot and implicit separated questions need none."""
    judge: str | None = None
    """The model that judges replies; `provider/model`."""
    judge_may_be_target: bool = False
    """Whether a model may judge its own replies."""
    strategies: tuple[StrategyName, ...] = Field(default=STRATEGIES, min_length=1)
    pairs: int | tuple[Identifier, ...] = 4
    """How many attribute pairs, drawn by `seed` over all axes, or which ones."""
    axes: tuple[Identifier, ...] = ()
    """Only pairs of these, such as `gender`; none: of all."""
    sessions: int = Field(default=1, ge=1, le=100)
    """Conversations per pair and strategy."""
    turns: int = Field(default=10, ge=1, le=50)
    """Most messages of a conversation that lasts."""
    backtracks: int = Field(default=10, ge=0, le=50)
    """How often a crescendo takes a refused message back."""
    attempts: int = Field(default=3, ge=1, le=20)
    """How often the one-shot attack asks anew, in another form and with other names."""
    attacker_retries: int = Field(default=3, ge=0, le=20)
    """How often the attacker is asked again for a message that can be sent."""
    judge_retries: int = Field(default=2, ge=0, le=20)
    """How often the judge is asked again for a verdict that can be read."""
