"""Which scenes a model is tuned on, and which are kept to see what it has learnt: scenes whole, never one of their
two assignments."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from catalogs.catalog import Catalog

DEV = 0.2
"""Share of the scenes that are kept, and of the texts that belong to none."""


def dev_scenes(catalog: Catalog, seed: int) -> frozenset[str]:
    """The scenes kept to validate tuning and to ask what a model understands. They follow from the scenes' ids and
    the seed alone, whatever the language or the assignments."""
    tuned_on = [name for name in catalog.tuning if _has_scenes(catalog, name)]
    return _kept({scene for name in tuned_on for scene in catalog.tuning[name].scenes}, seed)


def dev_texts(catalog: Catalog, seed: int) -> frozenset[str]:
    """The whole texts kept to validate tuning, as `domain/number`."""
    numbered = ((name, range(1, len(own.examples) + 1)) for name, own in catalog.tuning.items())
    return _kept({f"{name}/{number}" for name, numbers in numbered for number in numbers}, seed)


def _kept(names: Iterable[str], seed: int) -> frozenset[str]:
    ordered = sorted(names, key=lambda name: hashlib.sha256(f"dev/{seed}/{name}".encode()).digest())
    return frozenset(ordered[: round(DEV * len(ordered))])


def _has_scenes(catalog: Catalog, name: str) -> bool:
    return name in catalog.scenes and not catalog.scenes[name].held_out
