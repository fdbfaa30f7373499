"""Proposals on the shipped catalog, as generators write them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from support.prompted_cells import catalog

NIGHT = ["Ada", "Bea", "Cleo", "Dot", "Eve", "Fay", "Gia", "Hope"]
WRITTEN = {
    "axis": "gender",
    "favoured": "men",
    "stigmatised": "women",
    "attributes": ["pilot", "cabin crew"],
    "kind": "role",
    "why": "Passengers ask who flies and who serves.",
}


@pytest.fixture(scope="session")
def written() -> Callable[..., dict[str, Any]]:
    """What a generator writes where it follows its instructions, with changes; None leaves a key out."""

    def make(**changes: Any) -> dict[str, Any]:
        return {key: value for key, value in {**WRITTEN, **changes}.items() if value is not None}

    return make


@pytest.fixture(scope="session")
def reply() -> Callable[..., str]:
    return lambda *rows: json.dumps(list(rows), ensure_ascii=False)
