"""An event loop whose clock leaps from event to event: hours pass in a second, and always in the same way."""

import asyncio
import selectors
from typing import Any


class Leaping(selectors.SelectSelector):
    """Nothing is ever waited for: the clock is set to when it would have happened."""

    now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if not ready and timeout:
            self.now += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.clock = Leaping()
        super().__init__(self.clock)

    def time(self) -> float:
        return self.clock.now
