"""Whole `biasgrid` processes: from their start to the findings."""

import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from peers.recipe import Launch

from rig.loopback import Loopback, Traffic
from rig.processes import Spent, run_measured
from rig.scenario import Written
from rig.timing import load

BIASGRID = Path(sys.executable).with_name("biasgrid")
MET, NOT_MET, INCOMPLETE = 0, 1, 3
"""Exit codes of a run that came to its end."""
EMPTY_FLOW = """\
import asyncio
from prefect import flow

@flow
async def empty() -> None:
    pass

asyncio.run(empty())
"""


QUIET = {"PREFECT_SERVER_ANALYTICS_ENABLED": "false", "DO_NOT_TRACK": "1"}


def home_environment(home: Path) -> dict[str, str]:
    """The environment of a process whose Prefect keeps to `home`."""
    return QUIET | {"PREFECT_HOME": str(home)}


@dataclass(frozen=True)
class Whole:
    """What one whole process took, and the traffic at the endpoint."""

    name: str
    prompts: int
    spent: Spent
    traffic: Traffic
    load: float
    server_cpu_s: float = 0.0
    """What a Prefect server next to it used meanwhile."""

    @property
    def before_s(self) -> float | None:
        """From its start to its first request; None where it sent none."""
        return None if self.traffic.first is None else self.traffic.first - self.spent.started

    @property
    def after_s(self) -> float | None:
        """From the last reply to its end."""
        return None if self.traffic.first is None else self.spent.started + self.spent.wall_s - self.traffic.last

    @property
    def per_second(self) -> float:
        return self.prompts / self.spent.wall_s

    @property
    def cpu_ms(self) -> float:
        """Per prompt, children included."""
        return 1000 * self.spent.cpu_s / self.prompts


def watch(name: str, prompts: int, launch: Launch, server: Loopback) -> Whole:
    """Run it, and ask the endpoint what came."""
    server.forget()
    busy = load()
    took = run_measured(launch)
    return Whole(name, prompts, took, server.traffic(), busy)


@dataclass(frozen=True)
class Setting:
    """Where `biasgrid` runs: its scenario, and its Prefect, a temporary one where `api` is None."""

    written: Written
    home: Path
    folder: Path
    api: str | None = None

    @property
    def environment(self) -> dict[str, str]:
        own = home_environment(self.home) | {"BIASGRID_CATALOG": str(self.written.catalog)}
        return own | ({"PREFECT_API_URL": self.api} if self.api else {})

    def run(self, data: str, *options: str) -> Launch:
        """`biasgrid run` of its scenario into a data directory below its folder."""
        self.folder.mkdir(parents=True, exist_ok=True)
        scenario = [str(self.written.scenario), "--library", str(self.written.library)]
        command = [str(BIASGRID), "run", *scenario, "--data", str(self.folder / data), *options]
        return Launch(command, self.folder, self.environment)

    def empty_flow(self) -> Launch:
        """What Prefect alone takes."""
        self.folder.mkdir(parents=True, exist_ok=True)
        return Launch([sys.executable, "-c", EMPTY_FLOW], self.folder, self.environment)

    def version(self) -> Launch:
        return replace(self.empty_flow(), command=[str(BIASGRID), "--version"])


def flaws(whole: Whole, requests: int, codes: Collection[int] = (MET, NOT_MET)) -> Iterator[str]:
    """Why its figures do not count: it failed, or sent more or less than `requests`."""
    if whole.spent.code not in codes:
        text = whole.spent.output.strip().rpartition("\n")[2]
        yield f"{whole.name} ended with {whole.spent.code}: {text[-300:]}"
    if whole.traffic.received != requests:
        yield f"{whole.name} sent {whole.traffic.received:,} requests, not {requests:,}"
