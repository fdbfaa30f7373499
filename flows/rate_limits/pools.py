"""Pools of concurrency slots that runs share."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

from biasgrid.catalogs.loading.catalog import FREE
from biasgrid.catalogs.schema.models import Target


class Board(Protocol):
    """Grants slots to requests."""

    def grant(self, name: str, slots: int, total: int | None = None) -> None:
        """From now on at most `slots` requests in flight to a provider, or to a model of its own concurrency, and
        so many of `total`, by default all, of what may be sent in a minute."""
        ...


@dataclass
class Pool:
    """One server-side limit, and the slots this process holds."""

    scope: str
    """A provider, or a model whose concurrency is its own."""
    need: int
    leases: dict[UUID, int] = field(default_factory=dict)
    slots: int = 0
    """As granted to the board; more than is leased where the server let everything through or was lost, fewer
    where an operator has lowered the limit."""
    renewed_at: float = 0.0

    @property
    def name(self) -> str:
        """Of the limit; Prefect takes no `/` in it."""
        return "biasgrid:" + re.sub(r"[^\w .:@+-]", ":", self.scope, flags=re.ASCII)

    @property
    def leased(self) -> int:
        return sum(self.leases.values())


def pools(targets: Iterable[Target]) -> list[Pool]:
    """Concurrency limits that `targets` need, in a fixed order so that two processes cannot deadlock."""
    needs: dict[str, int] = {}
    for target in targets:
        if target.connector not in FREE:
            scope = target.model if "concurrency" in target.own_limits else target.provider
            needs[scope] = max(needs.get(scope, 0), target.limits.concurrency)
    return [Pool(scope, need) for scope, need in sorted(needs.items())]
