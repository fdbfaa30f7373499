"""How the tests are shared out among processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from xdist.scheduler import LoadScopeScheduling

PREFECT = "tests/flows/benchmark/"
"""One process runs all of these: their Prefect server takes seconds to start."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
    """File by file, the group first. pytest-xdist's own groups (`--dist loadgroup`) go unseen by pytest 9.2,
    whose node ids cannot be changed."""
    if config.getoption("dist") != "load":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return PREFECT if nodeid.startswith(PREFECT) else nodeid.partition("::")[0]

    return ByFile(config, log)
