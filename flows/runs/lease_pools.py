"""Pools of concurrency slots that runs share."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from uuid import UUID

from biasgrid.catalogs.loading.catalog import FREE
from biasgrid.catalogs.schema.models import Target
from biasgrid.warehouse.storage.atomic_file import replace_atomically
from biasgrid.warehouse.storage.lake import Lake, check_name


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


def lease_order(targets: Iterable[Target]) -> list[Pool]:
    """Concurrency limits that `targets` need, in a fixed order so that two processes cannot deadlock."""
    needs: dict[str, int] = {}
    for target in targets:
        if target.connector not in FREE:
            scope = target.model if "concurrency" in target.own_limits else target.provider
            needs[scope] = max(needs.get(scope, 0), target.limits.concurrency)
    return [Pool(scope, need) for scope, need in sorted(needs.items())]


@dataclass(frozen=True, slots=True)
class LeaseLedger:
    """For the holder of the run's lock alone: it releases these leases as a dead process's. A file that cannot
    be written or read does no harm: a lease that is not released expires within a minute."""

    path: Path

    @classmethod
    def of(cls, lake: Lake, run_id: str, part: str | None = None) -> LeaseLedger:
        """Ledger of a run, or of one process's part of it."""
        name = check_name(f"{run_id}-{part}" if part else run_id)
        return cls(lake.locks / f"leases-{name}.txt")

    def left_behind(self) -> list[UUID]:
        """Lease ids that a dead process did not release."""
        try:
            return [UUID(line) for line in self.path.read_text(encoding="ascii").split()]
        except (OSError, ValueError):
            return []

    def note(self, leases: Iterable[UUID]) -> None:
        """Records all leases currently held."""
        held = "".join(f"{lease}\n" for lease in leases)
        with suppress(OSError):
            if held:
                with replace_atomically(self.path) as partial:
                    partial.write_text(held, encoding="ascii")
            else:
                self.path.unlink(missing_ok=True)
