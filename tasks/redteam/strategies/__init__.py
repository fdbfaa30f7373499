"""The attack strategies by name, independent of models and files."""

from __future__ import annotations

from biasgrid.catalogs.schema.attacks import StrategyName
from biasgrid.tasks.redteam.moves import Strategy
from biasgrid.tasks.redteam.strategies.crescendo import Crescendo
from biasgrid.tasks.redteam.strategies.direct import Direct
from biasgrid.tasks.redteam.strategies.implicit_separated import ImplicitSeparated
from biasgrid.tasks.redteam.strategies.one_shot import OneShot
from biasgrid.tasks.redteam.strategies.persona import InPersona
from biasgrid.tasks.redteam.strategies.selection import Selection
from biasgrid.tasks.redteam.strategies.separated import Separated

STRATEGIES: dict[StrategyName, Strategy] = {
    "one_shot": OneShot(),
    "direct": Direct(),
    "separated": Separated(),
    "selection": Selection(),
    "implicit_separated": ImplicitSeparated(),
    "crescendo": Crescendo(),
    "persona": InPersona(),
}
