"""How the tests are shared out among processes."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from xdist.scheduler import LoadScopeScheduling

PREFECT = "tests/flows/benchmark/"
"""One process runs all of these: their Prefect server takes seconds to start. Drills, which take longer than
that, are shared out file by file."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
    """File by file, the group first. pytest-xdist's own groups (`--dist loadgroup`) go unseen by pytest 9.2,
    whose node ids cannot be changed."""
    if config.getoption("dist") != "load":
        return None
    from xdist.scheduler import LoadScopeScheduling

    drills = config.getoption("markexpr") == "drill"

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return PREFECT if nodeid.startswith(PREFECT) and not drills else nodeid.partition("::")[0]

    return ByFile(config, log)


def pytest_collection_finish() -> None:
    """What the tests' modules and Prefect have made by now stays: looked through every few hundred objects, it
    takes a fifth of the tests' time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)


def pytest_unconfigure() -> None:
    gc.unfreeze()  # what is never collected would be told as leaked
