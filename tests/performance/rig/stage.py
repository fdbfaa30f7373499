"""The whole processes that are compared: which there are, and what each must have sent."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from peers.installed import Peer
from peers.recipe import Job, Launch

from rig.loopback import Loopback
from rig.processes import cpu_s, run_measured
from rig.runs import Setting, Whole, flaws, watch
from rig.scenario import as_texts, write_scenario
from support.prefect_server import PrefectServer, prefect_server

ALL, CONCURRENCY = 2966, 64
EPHEMERAL, SERVED = "biasgrid, ephemeral", "biasgrid, server"
ALL_EPHEMERAL, ALL_SERVED = f"{EPHEMERAL}, {ALL:,}", f"{SERVED}, {ALL:,}"
VERSION = "biasgrid --version"
SERVED_HOME, ALONE_HOME = "served", "alone"


def empty(kind: str) -> str:
    return f"empty flow, {kind}"


def warm(name: str) -> str:
    return f"{name}, warm"


@dataclass(frozen=True)
class Contender:
    """One of them: what it is called, and what it does in a turn. Prints why its figures do not count."""

    name: str
    requests: int
    act: Callable[[int], Whole]

    def measure(self, turn: int) -> list[Whole]:
        """One whole process; none where it failed, or sent more or less than it should."""
        whole = self.act(turn)
        wrong = list(flaws(whole, self.requests))
        for flaw in wrong:
            print(f"not to be counted: {flaw}", flush=True)
        return [] if wrong else [whole]


@dataclass(frozen=True)
class Stage:
    """Where the processes run: the endpoint, a Prefect server, a folder for everything."""

    server: Loopback
    folder: Path
    prefect: PrefectServer

    def contenders(self, prompts: int, peers: Sequence[Peer]) -> Iterator[Contender]:
        """In the order in which a turn runs them: a warm run needs one before it."""
        alone, served = self.setting(prompts, None), self.setting(prompts, self.prefect)
        yield self._bare(VERSION, alone.version())
        yield self._bare(empty("ephemeral"), alone.empty_flow())
        yield self._bare(empty("server"), served.empty_flow())
        for name, own in {EPHEMERAL: alone, SERVED: served}.items():
            yield self._run(name, own, prompts, prompts)
            yield self._run(warm(name), own, prompts, 0, "--reuse", "all")
        yield self._run(ALL_EPHEMERAL, self.setting(ALL, None), ALL, ALL)
        yield self._run(ALL_SERVED, self.setting(ALL, self.prefect), ALL, ALL)
        for peer in peers:
            yield self._peer(peer, prompts)

    def setting(self, prompts: int, prefect: PrefectServer | None) -> Setting:
        written = write_scenario(self.folder / f"prompts-{prompts}", self.server.base_url, prompts, CONCURRENCY)
        kind, api = (SERVED_HOME, prefect.api) if prefect else (ALONE_HOME, None)
        return Setting(written, self.folder / kind, self.folder / f"{kind}-{prompts}", api)

    def _bare(self, name: str, launch: Launch) -> Contender:
        return Contender(name, 0, lambda turn: watch(name, 1, launch, self.server))

    def _run(self, name: str, setting: Setting, prompts: int, requests: int, *options: str) -> Contender:
        def act(turn: int) -> Whole:
            before = cpu_s(self.prefect.process.pid)
            whole = watch(name, prompts, setting.run(f"data-{turn}", *options), self.server)
            return replace(whole, server_cpu_s=cpu_s(self.prefect.process.pid) - before) if setting.api else whole

        return Contender(name, requests, act)

    def _peer(self, peer: Peer, prompts: int) -> Contender:
        def act(turn: int) -> Whole:
            folder = self.folder / f"{peer.name}-{turn}"
            folder.mkdir()
            launch = peer.launch(Job(self.server.base_url, as_texts(prompts), CONCURRENCY, folder))
            return watch(peer.name, prompts, launch, self.server)

        return Contender(peer.name, prompts, act)


@contextmanager
def staged(server: Loopback, folder: Path) -> Iterator[Stage]:
    """With a Prefect server up, and the database of the temporary ones migrated by a first start: each kind has
    its own, since two servers of one SQLite file wait for each other."""
    os.environ.pop("PREFECT_API_URL", None)
    with prefect_server(folder / SERVED_HOME) as prefect:
        stage = Stage(server, folder, prefect)
        run_measured(stage.setting(1, None).empty_flow())
        yield stage
