"""A model that writes numbered replies."""

import asyncio
from pathlib import Path

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.api import Connector, KeyRejected, Reply, Request


class Writer:
    """A model that can wait or fail; records its requests."""

    def __init__(self) -> None:
        self.asked: list[Request] = []
        self.stalled_after = 99
        self.busy, self.resume = asyncio.Event(), asyncio.Event()
        self.broken = False

    def connect(self, target: Target, key: str | None, catalog: Catalog) -> Connector:
        return self

    async def ask(self, request: Request) -> Reply:
        self.asked.append(request)
        if self.broken:
            raise KeyRejected("the key was rejected")
        if len(self.asked) == 3:
            self.busy.set()
        if len(self.asked) > self.stalled_after:
            await self.resume.wait()
        return Reply(f"[] {len(self.asked)}", "stop", 100, 20, "writer-1")

    async def close(self) -> None:
        return None


def decide(review: Path, *decisions: str) -> None:
    """Writes decisions into a review file, for its first entries."""
    lines = review.read_text(encoding="utf-8").split("\n")
    places = [number for number, line in enumerate(lines) if line.strip() == "- decision:"]
    for number, decision in zip(places, decisions, strict=False):
        lines[number] += f" {decision}"
    review.write_text("\n".join(lines), encoding="utf-8")
