"""How far the batches of a model are, for whoever watches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from biasgrid.tasks.prompt.batch.jobs import Job


@dataclass(frozen=True, slots=True)
class Progress:
    """Where the batches of a model stand."""

    model: str
    jobs: tuple[Job, ...]
    """Those whose replies have not landed."""

    @property
    def requests(self) -> int:
        return sum(len(job.request_keys) for job in self.jobs)

    @property
    def done(self) -> int:
        """Requests answered or failed, as far as the provider tells."""
        return sum((job.completed or 0) + (job.failed or 0) for job in self.jobs)

    @property
    def share(self) -> float:
        """Of the requests that are done, 0–1."""
        return min(1.0, self.done / self.requests) if self.requests else 1.0

    def __str__(self) -> str:
        states = Counter(job.state for job in self.jobs)
        told = ", ".join(f"{count} {state}" for state, count in sorted(states.items())) or "none at the provider"
        return f"{self.model}: batches: {told}; {self.done:,} of {self.requests:,} requests done"


Tell = Callable[[Progress], Awaitable[None]]


async def silently(progress: Progress) -> None:
    """Tells nobody."""
