"""Bias benchmarks for language models as declarative workflows: `from biasgrid import Benchmark`.

The folders of the repository are its subpackages, by symbolic links, so that one name is all that is installed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from biasgrid.catalogs.errors import UserError
    from biasgrid.flows.api import Audit, Benchmark, Interaction, Probe, RedTeam, RunInterrupted
    from biasgrid.warehouse.storage.errors import OldWarehouseStays, StorageTrouble
    from biasgrid.warehouse.storage.run_lock import RunBusy

PLACES = {
    **dict.fromkeys(("Audit", "Benchmark", "Interaction", "Probe", "RedTeam", "RunInterrupted"), "flows.api"),
    "UserError": "catalogs.errors",
    "OldWarehouseStays": "warehouse.storage.errors",
    "StorageTrouble": "warehouse.storage.errors",
    "RunBusy": "warehouse.storage.run_lock",
}
__all__ = [
    "Audit",
    "Benchmark",
    "Interaction",
    "OldWarehouseStays",
    "Probe",
    "RedTeam",
    "RunBusy",
    "RunInterrupted",
    "StorageTrouble",
    "UserError",
]
is_command = False
"""Whether this process is the command's own, and not one of a user's."""


def __getattr__(name: str) -> Any:
    """Imported at first use: Prefect and Polars take seconds that `biasgrid --version` does not need."""
    if name not in PLACES:
        raise AttributeError(f"module `biasgrid` has no attribute `{name}`")
    return getattr(import_module(f"biasgrid.{PLACES[name]}"), name)
