import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def baselines() -> ModuleType:
    """The script beside this file."""
    spec = importlib.util.spec_from_file_location("baselines", Path(__file__).parent / "baselines.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["baselines"] = module  # where dataclasses look their module up
    spec.loader.exec_module(module)
    return module
