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

    def count_taken(self, name: str) -> int:
        """Requests in flight to it."""
        ...


OWN, WAITING = "biasgrid:", "biasgrid-waiting:"
"""Prefixes of the names of limits: of what a provider takes at once, and of the processes that wait for that."""
WAITING_MOST = 1000


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
    prefix: str = OWN

    @property
    def name(self) -> str:
        """Of the limit; Prefect takes no `/` in it."""
        return self.prefix + re.sub(r"[^\w .:@+-]", ":", self.scope, flags=re.ASCII)

    @property
    def waiting_line(self) -> Pool:
        """Another limit: a process that waits for its first slot of this one holds a slot there."""
        return Pool(self.scope, WAITING_MOST, prefix=WAITING)

    @property
    def leased(self) -> int:
        return sum(self.leases.values())

    @property
    def surplus(self) -> UUID | None:
        """The largest lease of at most half of what is held; None if there is none."""
        small = [(slots, lease) for lease, slots in self.leases.items() if slots <= self.leased // 2]
        return max(small)[1] if small else None


def split_slots(slots: int) -> list[int]:
    """A half, a quarter and a quarter, so that a part can be given back: Prefect takes back whole leases alone."""
    half = slots // 2
    quarter = (slots - half) // 2
    return [part for part in (half, quarter, slots - half - quarter) if part]


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
