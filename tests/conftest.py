"""How tests are distributed over processes, and fixtures for all of them."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from xdist.scheduler import LoadScopeScheduling

pytest.register_assert_rewrite("support")

from support.assessed_runs import attacked, probed, talked
from support.azure_server import _azure
from support.chatbot import chatbot
from support.earlier_duckdb import earlier_duckdb
from support.s3_server import _google, _s3, s3

TOGETHER = ("tests/integration/flows/benchmark/", "tests/golden/docs/")
"""One process runs all tests of such a folder: their Prefect server, or their run, takes seconds to make. Drills,
which take longer than that, are shared out file by file."""
MACHINES = "tests/integration/deployments/machines"
"""Each file has servers and machines of its own, which take a minute to make."""
LONG = (
    f"{MACHINES}/test_orderly_ends.py",
    "tests/integration/flows/cli/runs/test_signals.py",
    f"{MACHINES}/test_nights_on_many_machines.py",
    "tests/golden/docs/test_tutorials.py",
    f"{MACHINES}/test_night_under_signals.py",
    "tests/unit/warehouse/build/test_increments.py",
    "tests/integration/flows/benchmark/test_kill.py",
)
"""Drills of minutes: they begin first, so that none is left for the end. Those without machines are shared out one
by one."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
    """File by file, groups first. pytest-xdist's own groups (`--dist loadgroup`) go unseen by pytest 9.2,
    whose node ids cannot be changed."""
    if config.getoption("dist") != "load":
        return None
    from xdist.scheduler import LoadScopeScheduling

    drills = config.getoption("markexpr") == "drill"

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            if drills:
                is_shared_out = nodeid.startswith(LONG) and not nodeid.startswith(MACHINES)
                return nodeid if is_shared_out else nodeid.partition("::")[0]
            folder = next((folder for folder in TOGETHER if nodeid.startswith(folder)), None)
            return folder or nodeid.partition("::")[0]

    config.option.loadscopereorder = not drills  # xdist would begin with the files of most tests
    return ByFile(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=_place)


def _place(item: pytest.Item) -> int:
    return next((at for at, long in enumerate(LONG) if item.nodeid.startswith(long)), len(LONG))


def pytest_collection_finish() -> None:
    """Freezes the objects of imported modules: without it, garbage collection takes a fifth of the tests' time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)


def pytest_unconfigure() -> None:
    gc.unfreeze()  # frozen objects would be reported as leaks
