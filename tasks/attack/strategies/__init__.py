"""The strategies of attack by name: each is one class, which knows nothing of models or files."""

from __future__ import annotations

from catalogs.attacks import StrategyName
from tasks.attack.moves import Strategy
from tasks.attack.strategies.crescendo import Crescendo
from tasks.attack.strategies.direct import Direct
from tasks.attack.strategies.implicit_separated import ImplicitSeparated
from tasks.attack.strategies.one_shot import OneShot
from tasks.attack.strategies.persona import InPersona
from tasks.attack.strategies.selection import Selection
from tasks.attack.strategies.separated import Separated

STRATEGIES: dict[StrategyName, Strategy] = {
    "one_shot": OneShot(),
    "direct": Direct(),
    "separated": Separated(),
    "selection": Selection(),
    "implicit_separated": ImplicitSeparated(),
    "crescendo": Crescendo(),
    "persona": InPersona(),
}
