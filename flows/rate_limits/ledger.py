"""Records a run's leases next to its lock, so that a resumed run can release them after a kill."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from biasgrid.warehouse.storage.atomic_file import replace_atomically
from biasgrid.warehouse.storage.lake import Lake, check_name


@dataclass(frozen=True, slots=True)
class LeaseLedger:
    """Only for who holds the run's lock: nobody else may take its leases for a dead process's. What cannot be
    written or read is no trouble: a lease that nobody gives back expires within a minute."""

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
