"""Modules under their previous names, for user code and Prefect deployments that still use them.

`flows`, `tasks`, `catalogs`, `warehouse` and `deployments` were installed at the top level before they became
subpackages of `biasgrid`. A finder at the end of `sys.meta_path` resolves the old names, with a warning, where no
other package has them. Removed in 0.2.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType

NEW = {
    "flows": {
        "api": "biasgrid.flows.api",
        "benchmark": "biasgrid.flows.benchmark.flow",
        "nightly": "biasgrid.flows.scheduled.flow",
        "shard": "biasgrid.flows.scheduled.shard",
        "rebuilding": "biasgrid.flows.scheduled.rebuild_warehouse",
        "probe": "biasgrid.flows.probe.flow",
        "redteam": "biasgrid.flows.redteam.flow",
        "interaction": "biasgrid.flows.interaction.flow",
        "finetune": "biasgrid.flows.finetuning.flow",
    },
    "catalogs": {
        "catalog": "biasgrid.catalogs.loading.catalog",
        "mistakes": "biasgrid.catalogs.errors",
        "models": "biasgrid.catalogs.schema.models",
        "scenario": "biasgrid.catalogs.scenario.scenario",
        "schema": "biasgrid.catalogs.schema.entries",
    },
    "tasks": {"connectors": "biasgrid.tasks.connectors", "connectors.base": "biasgrid.tasks.connectors.api"},
    "warehouse": {
        "build": "biasgrid.warehouse.build.build",
        "lake": "biasgrid.warehouse.storage.lake",
        "schemas": "biasgrid.warehouse.schemas",
        "worked_queries": "biasgrid.warehouse.queries.example_queries",
    },
    "deployments": {"__main__": "biasgrid.deployments.__main__"},
}
"""The names of documented modules and deployment entrypoints, by the package and name that they had."""
PREVIOUS = {f"{package}.{name}": new for package, names in NEW.items() for name, new in names.items()}


class PreviousNames:  # no `importlib.abc.Loader`: its import costs every start of Python 20 ms
    """Finds and loads `PREVIOUS`: each is a module that hands on to the one that took its place."""

    @classmethod
    def find_spec(cls, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name in NEW:
            return _spec(name, is_package=True)
        package = sys.modules.get(name.partition(".")[0])
        if name in PREVIOUS and package is not None and isinstance(package.__loader__, cls):
            return _spec(name, is_package=name == "biasgrid.tasks.connectors")
        return None

    def create_module(self, spec: ModuleSpec) -> None:
        """None: a plain module."""

    def exec_module(self, module: ModuleType) -> None:
        if module.__name__ in PREVIOUS:
            new = import_module(_new(module.__name__))
            vars(module)["__getattr__"] = lambda name: getattr(new, name)

    def get_code(self, name: str) -> CodeType:
        """For `python -m`."""
        return compile(
            f"import runpy; runpy.run_module({_new(name)!r}, run_name='__main__', alter_sys=True)",
            __file__,
            "exec",
        )


def _spec(name: str, *, is_package: bool) -> ModuleSpec:
    return ModuleSpec(name, PreviousNames(), origin=__file__, is_package=is_package)  # type: ignore[arg-type]


def _new(name: str) -> str:
    import warnings  # not at every start of Python

    new = PREVIOUS[name]
    warnings.warn(f"`{name}` is now `{new}`; the old name is removed in 0.2", FutureWarning, stacklevel=2)
    return new


def install() -> None:
    """Called at the start of Python by `biasgrid_previous_names.pth`."""
    sys.meta_path.append(PreviousNames)
