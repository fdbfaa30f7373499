"""Bias benchmarks for language models as declarative workflows: `from biasgrid import Benchmark`.

The folders of the repository are its subpackages, by symbolic links, so that one name is all that is installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from biasgrid.flows.api import Benchmark, Interaction, Probe, RedTeam

__all__ = ["Benchmark", "Interaction", "Probe", "RedTeam"]


def __getattr__(name: str) -> Any:
    """Imported at first use: Prefect and Polars take seconds that `biasgrid --version` does not need."""
    if name not in __all__:
        raise AttributeError(f"module `biasgrid` has no attribute `{name}`")
    from biasgrid.flows import api

    return getattr(api, name)
