"""Which scenes a model is tuned on, and which are kept to see what it has learnt: scenes whole, never one of their
two assignments."""

from __future__ import annotations

import hashlib

from catalogs.catalog import Catalog

DEV = 0.2
"""Share of the scenes that are kept."""


def dev_scenes(catalog: Catalog, seed: int) -> frozenset[str]:
    """The scenes kept to validate tuning and to ask what a model understands. They follow from the scenes' ids and
    the seed alone, whatever the language or the assignments."""
    scenes = sorted({scene for domain in _tuned_on(catalog) for scene in catalog.tuning[domain].scenes})
    scenes.sort(key=lambda scene: hashlib.sha256(f"dev/{seed}/{scene}".encode()).digest())
    return frozenset(scenes[: round(DEV * len(scenes))])


def _tuned_on(catalog: Catalog) -> list[str]:
    return [name for name in catalog.tuning if name in catalog.scenes and not catalog.scenes[name].held_out]
