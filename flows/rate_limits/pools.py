"""What a run takes of limits that it shares with others: a pool of slots for each."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

from biasgrid.catalogs.loading.catalog import FREE
from biasgrid.catalogs.schema.models import Target


class Board(Protocol):
    """Who hands out slots to requests."""

    def grant(self, name: str, slots: int, total: int | None = None) -> None:
        """From now on at most `slots` requests in flight to a provider, or to a model of its own concurrency, and
        so many of `total`, by default all, of what may be sent in a minute."""
        ...


@dataclass
class Pool:
    """One limit at the server, and what this process holds of it."""

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
    """What is to be leased to ask `targets`, in the order in which every process leases it: whoever waits for one
    holds only what comes before it, so that no two wait for each other."""
    needs: dict[str, int] = {}
    for target in targets:
        if target.connector not in FREE:
            scope = target.model if "concurrency" in target.own_limits else target.provider
            needs[scope] = max(needs.get(scope, 0), target.limits.concurrency)
    return [Pool(scope, need) for scope, need in sorted(needs.items())]
