import importlib
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def baselines() -> ModuleType:
    """The script of that name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parent))
        return importlib.import_module("baselines")
