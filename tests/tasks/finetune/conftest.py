"""A catalog of sixteen scenes to tune on, and none beside them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from catalogs.catalog import Catalog, load_catalog

OVERLAY = Path(__file__).parents[2] / "tuning_catalog"


@pytest.fixture(scope="session")
def workshop() -> Catalog:
    catalog = load_catalog(overlay=OVERLAY)
    scenes = {name: catalog.scenes[name] for name in ("workshop", "fair")}
    return replace(catalog, scenes=scenes, tuning={"workshop": catalog.tuning["workshop"]})
