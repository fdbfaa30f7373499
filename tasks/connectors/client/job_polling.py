"""How long a job at a provider is waited for, and what is done about one that does not answer meanwhile."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.tasks.connectors.api import ModelStopped, RateLimited, Transient
from biasgrid.tasks.connectors.client.retry import Backoff

POLL = "BIASGRID_BATCH_POLL_S"
GROWTH = 1.5
T = TypeVar("T")


class Unreachable(ModelStopped):
    """The provider has not answered for so long that the run goes on without it."""


def _nobody(_: str) -> None:
    return


@dataclass(frozen=True, slots=True)
class Patience:
    first_s: float = 1.0
    """Seconds until a job is first looked at again."""
    longest_s: float = 30.0
    """Seconds between two looks at most."""
    outage_s: float = 600.0
    """How long a provider may fail to answer."""
    backoff: Backoff = field(default_factory=Backoff)
    tell: Callable[[str], None] = _nobody
    """Who hears that it is waited for, when it has failed to answer for the first time."""
    goes_on: str = "`biasgrid resume` collects it"
    """What a person does who finds that nobody answered: what was submitted goes on at the provider."""

    @classmethod
    def from_environment(cls) -> Patience:
        """`BIASGRID_BATCH_POLL_S` names the longest interval. Raises UserError where it is no time."""
        said = os.environ.get(POLL)
        if not said:
            return cls()
        try:
            longest = float(said)
        except ValueError:
            longest = 0.0
        if not 0 < longest < 86_400:
            raise UserError(Problem(f"`{said}` is no number of seconds", POLL, "give one above 0, such as 30"))
        return cls(min(cls().first_s, longest), longest)

    def intervals(self) -> Iterator[float]:
        """Seconds to wait before each further look."""
        interval = self.first_s
        while True:
            yield interval
            interval = min(interval * GROWTH, self.longest_s)

    async def steadily(self, call: Callable[[], Awaitable[T]]) -> T:
        """What `call` returns, made again while its errors are transient. Raises Unreachable where they last
        longer than `outage_s`, and terminal errors at once."""
        began, attempts = time.monotonic(), 0
        while True:
            try:
                return await call()
            except Transient as error:
                attempts += 1
                asked_s = (error.retry_after_s or 0.0) if isinstance(error, RateLimited) else 0.0
                wait_s = self.backoff.wait_s(attempts, asked_s)
                if time.monotonic() - began + wait_s > self.outage_s:
                    remedy = f"what was submitted goes on: {self.goes_on}"
                    raise Unreachable(f"{error}; {remedy}") from None
                if attempts == 1:
                    self.tell(f"{error}; tried again for up to {self._at_most()}")
            await asyncio.sleep(wait_s)

    def _at_most(self) -> str:
        return f"{self.outage_s / 60:.0f} minutes" if self.outage_s >= 120 else f"{self.outage_s:g} seconds"
