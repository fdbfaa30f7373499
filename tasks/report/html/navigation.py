"""Ways from the pages of a run to those around it, where they lie in a site of all runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from biasgrid.tasks.report.figures import moment

HOME = "../../index.html"
"""From a run's page to that of all runs."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    href: str
    name: str
    """Of its scenario, or of what it has assessed."""
    started_at: datetime | None

    @property
    def moment(self) -> str:
        return moment(self.started_at)


@dataclass(frozen=True, slots=True)
class Ways:
    home: str
    older: Neighbour | None = None
    newer: Neighbour | None = None

    def as_told(self) -> dict[str, Any]:
        """As a page loads it."""
        return {"home": self.home, "older": _told(self.older), "newer": _told(self.newer)}


def _told(neighbour: Neighbour | None) -> dict[str, Any] | None:
    if neighbour is None:
        return None
    return {"href": neighbour.href, "name": neighbour.name, "started_at": neighbour.started_at}


def ways_between(pages: Sequence[Neighbour]) -> Iterator[Ways]:
    """Of each of these runs, the newest first; each `href` leads there from the page of any other."""
    for at, _ in enumerate(pages):
        newer = pages[at - 1] if at else None
        older = pages[at + 1] if at + 1 < len(pages) else None
        yield Ways(HOME, older, newer)
