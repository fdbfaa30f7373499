"""Commands that are struck by kills and signals at random moments: nothing is lost, asked again or left behind.

Each command is timed undisturbed; it is then struck at shares of that time, or once it has sent so many requests.
`BIASGRID_DRILL_SIGNALS` is how often in all; signals and moments follow from a seed.
"""

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from biasgrid.catalogs.scenario.scenario import resolve
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import UNFINISHED, all_runs
from support.audits import write_audit
from support.flows import provider_at, write_yaml
from support.plain_runs import run_benchmark
from support.processes import PATIENCE_S, free_port, wait_until
from support.run_processes import Shell, shell

__all__ = ["shell"]
pytestmark = pytest.mark.drill

SEED = 20_261_124
TRIALS = {"serve": 6, "run": 12, "interact": 10, "redteam": 10, "probe": 10, "audit": 8, "evaluate": 10}
TRIALS |= {"report": 8, "build": 8, "augment": 6}
TIMES = float(os.environ.get("BIASGRID_DRILL_SIGNALS", "40")) / sum(TRIALS.values())
AT_ONCE, LATENCY_S = 4, 0.1
"""Seconds until what a killed process has started is gone."""
SIGNALS = (signal.SIGKILL, signal.SIGINT, signal.SIGKILL, signal.SIGTERM, signal.SIGKILL, signal.SIGHUP)
MODEL, OTHER = "gateway/slow", "gateway/other"
FORMATS = ("html", "evidence", "pictures")
Words = tuple[object, ...]


@dataclass
class Struck:
    """One command after another in a folder of its own; each ends its work or is struck, and the next goes on."""

    shell: Shell
    server: Any
    words_of: Callable[[int], Words]
    """How work is begun, by how often it has been begun before."""
    chance: random.Random
    begun: int = 0
    abandoned: int = 0
    """Runs that are not gone on with, since they have nothing more to ask."""
    missed: int = 0
    lost: int = 0
    """Replies that were never received, at most: requests in flight at kills."""
    before_s: float = 0.0
    """Until its first request."""
    after_s: float = 0.0
    """From the last one to the end."""
    requests: int = 0
    given: int = 0
    """Replies before the first command."""
    held: int = 0
    """Replies before the work that is going on."""
    log: list[str] = field(default_factory=list)

    @property
    def words(self) -> Words:
        runs = all_runs(self.shell.lake)[self.abandoned :]
        return ("resume", runs[-1].run_id) if runs and runs[-1].state in UNFINISHED else self.words_of(self.begun)

    def measure(self) -> None:
        """Works once, undisturbed."""
        self.given = len(self.shell.arrived_texts())
        start = time.monotonic()
        sent, moments = 0, [start]
        process = self.shell.start(*self.words)
        while process.poll() is None:
            if len(self.server.bodies) > sent:
                sent = len(self.server.bodies)
                moments.append(time.monotonic())
            time.sleep(0.01)
        self.check_result(process)
        self.requests = sent
        self.before_s = (moments[1] if sent else time.monotonic()) - start
        self.after_s = time.monotonic() - moments[-1] if sent else 0.0
        self.log.append(f"{self.before_s:.1f} s, {sent} requests, {self.after_s:.1f} s")

    def check_result(self, process: subprocess.Popen[str]) -> None:
        out, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode in (0, 1, 4), out + err
        assert "Traceback" not in out + err, err
        self.begin_anew()

    def begin_anew(self) -> None:
        self.begun, self.abandoned = self.begun + 1, len(all_runs(self.shell.lake))
        self.held = len(self.shell.arrived_texts())

    def strike(self, word: signal.Signals) -> None:
        """Strikes a command that is at work; one that ends before is a miss, and the next one is struck."""
        while True:
            kept = self.shell.arrived_texts()
            left = self.requests - len(kept) + self.held
            if self.requests and left <= 0 and self.chance.random() < 0.7:
                self.begin_anew()
                left = self.requests
            words = self.words
            process = self.shell.start(*words)
            moment, is_early = self.wait(process, left)
            if process.poll() is None:
                break
            self.check_result(process)
            self.miss()
        is_orderly = self.send(process, word)
        out, err = process.communicate(timeout=PATIENCE_S)
        now = self.shell.arrived_texts()
        self.log.append(f"{words[0]} {word.name} {moment}: {process.returncode}, +{len(now) - len(kept)}")
        self.check_end(process, word, out, err, is_early=is_early)
        now = self.shell.arrived_texts()  # what a killed command had started has landed its replies
        self.lost += 0 if is_orderly else AT_ONCE
        assert kept.items() <= now.items(), words
        assert len(self.server.bodies) - len(now) + self.given <= self.lost, words

    def miss(self) -> None:
        self.missed += 1
        self.follow(0.7)
        assert self.missed < 10

    def follow(self, pace: float) -> None:
        """The machine takes longer now, or is faster, by this factor."""
        self.before_s, self.after_s = pace * self.before_s, pace * self.after_s

    def wait(self, process: subprocess.Popen[str], left: int) -> tuple[str, bool]:
        """Waits for a moment before, while or after requests are sent. The moment in words, and whether Python
        itself may still be starting."""
        phase, share = self.chance.random(), 0.8 * self.chance.random()
        if left <= 0 or phase < 0.25:
            share *= self.before_s + (self.after_s if left <= 0 else 0)
            return f"after {_sleep(process, share):.1f} s", share < 0.1 * self.before_s
        is_asking = phase < 0.75
        wanted = self.chance.randint(1, left) if is_asking else left
        enough, begun, first_s = len(self.server.bodies) + wanted, time.monotonic(), self.before_s
        while process.poll() is None and len(self.server.bodies) < enough:
            assert time.monotonic() < begun + 3 * PATIENCE_S, f"{enough - len(self.server.bodies)} more requests"
            time.sleep(0.005)
            if len(self.server.bodies) <= enough - wanted:
                first_s = time.monotonic() - begun
        self.follow(first_s / self.before_s)
        seconds = _sleep(process, share * (LATENCY_S if is_asking else self.after_s))
        return f"at {wanted} of {left} + {seconds:.1f} s", False

    def send(self, process: subprocess.Popen[str], word: signal.Signals) -> bool:
        """Sends it to the process or its group, once or twice; whether what is in flight has time to land."""
        strike = os.killpg if self.chance.random() < 0.5 else os.kill
        pauses = (0.0,) if word == signal.SIGKILL else self.chance.choice(((0.0,), (0.0, 0.0), (0.0, 1.5)))
        for pause in pauses:
            _sleep(process, pause)
            with suppress(ProcessLookupError):
                strike(process.pid, word)
        return word != signal.SIGKILL and pauses[-1] == 0

    def check_end(
        self, process: subprocess.Popen[str], word: signal.Signals, out: str, err: str, *, is_early: bool
    ) -> None:
        code, lines = process.returncode, err.count("biasgrid: interrupted")
        if is_early and (code == -word or "Fatal Python error: init_import_site" in err):
            return  # Python ended by the signal before it began the command, with words of its own
        assert "Traceback" not in out + err, err
        assert "Exception ignored" not in err, err
        if 0 <= code <= 4:  # it ended by itself while the signal was sent
            assert lines == 0, err
            self.begin_anew()
            self.miss()
        else:
            assert (code, lines) == ((-word, 0) if word == signal.SIGKILL else (128 + word, 1)), err
        wait_until(lambda: not _processes_in(self.shell.folder))

    def check_whole(self) -> None:
        """The work that was struck last is finished, and every reply has landed once."""
        self.check_result(self.shell.start(*self.words))
        replies = self.shell.lake.read("responses")
        answered = replies.filter(replies["text"].is_not_null())
        assert answered.select("run_id", "request_key").n_unique() == answered.height
        assert len(self.server.bodies) - answered.height + self.given <= self.lost
        assert self.shell.journals() == []


class Serving(Struck):
    """`serve`, whose workers are given a night as soon as there is one."""

    @property
    def words(self) -> Words:
        return self.words_of(self.begun)

    def measure(self) -> None:
        start = time.monotonic()
        process = self.shell.start(*self.words)
        wait_until(self.order_night, process)
        wait_until(lambda: self.server.bodies, process)
        self.before_s = time.monotonic() - start
        wait_until(lambda: [run for run in all_runs(self.shell.lake) if run.state == "completed"], process)
        self.requests = len(self.server.bodies)
        self.send(process, signal.SIGTERM)
        self.check_end(process, signal.SIGTERM, *process.communicate(timeout=PATIENCE_S), is_early=False)
        self.begin_anew()

    def wait(self, process: subprocess.Popen[str], left: int) -> tuple[str, bool]:
        if self.chance.random() < 0.3:
            return super().wait(process, 0)
        wait_until(lambda: self.order_night() or process.poll() is not None)
        return super().wait(process, self.requests)

    def follow(self, pace: float) -> None:
        """It never ends by itself, and is not missed."""

    def order_night(self) -> bool:
        api = f"http://127.0.0.1:{self.words[self.words.index('--port') + 1]}/api"
        with suppress(httpx.TransportError):
            found = httpx.get(f"{api}/deployments/name/nightly/nightly")
            path = f"/deployments/{found.json()['id']}/create_flow_run" if found.is_success else "/health"
            return found.is_success and httpx.post(f"{api}{path}", json={}).is_success
        return False

    def check_whole(self) -> None:
        self.words_of = lambda _: ("warehouse", "build")
        super().check_whole()


def _sleep(process: subprocess.Popen[str], seconds: float) -> float:
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    return seconds


def _processes_in(folder: Path) -> list[str]:
    """Processes that a command in this folder has started, whatever group they are in."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if f"DRILL_FOLDER={folder}\0".encode() in path.read_bytes():
                found.append(path.parent.joinpath("cmdline").read_text())
    return found


@pytest.fixture
def server(serve: Any, overlay: Any) -> Any:
    """Respondents that play every part."""
    own = {"strength": 0.3, "conformity": 0.8, "corrects": 0.5}
    plays = {"leaning": {"default": 0.8}, "yields_after": 5, "assigning": own, "judging": {}, "deciding": {}}
    named = {"description": "Behind a gateway.", "latency_ms": 1000 * LATENCY_S, **plays}
    respondents = tuple({"id": name, **named} for name in ("slow", "other", *(f"other-{n}" for n in range(15))))
    started = serve("slow", overlay=overlay(respondents=respondents))
    provider = provider_at(started.base_url, limits={"concurrency": AT_ONCE})
    overlay({"providers": {"gateway": provider}}, respondents=respondents)
    return started


@pytest.fixture
def struck(
    request: pytest.FixtureRequest, shell: Any, server: Any, scenario_file: Any, scenario: Any, tmp_path: Path
) -> Struck:
    name: str = request.param
    talks = {"models": [MODEL], "scenes": ["office-server-migration"], "settings": ["no_goal"], "runs": 4}
    attack = {"attacker": OTHER, "judge": OTHER, "pairs": ["doctor-nurse"], "turns": 4}
    target = {"target": {"models": [MODEL], "company": "Acme", "purpose": "advice"}, "redteam": attack}
    mine = shell(name, served=name in ("probe", "interact"), DRILL_FOLDER=str(tmp_path / name))
    if name in ("evaluate", "report", "build"):
        lake = Lake.open(mine.data)
        asyncio.run(run_benchmark(lake, resolve(scenario(["simulated/biased"], templates=4))))
    order = ("--concern", "sexism", "--context", "a kitchen", "--count", 120)
    asked, port = scenario_file([MODEL], templates=6, samples=2, judge=OTHER), free_port()
    chatbot = write_yaml(tmp_path / "chatbot.yaml", target)
    audit = write_audit(tmp_path / "audit", 8, models=[MODEL], pairs=8)
    interaction = write_yaml(tmp_path / "talks.yaml", {"interaction": talks})
    words: dict[str, Callable[[int], Words]] = {
        "serve": lambda _: ("serve", asked, "--port", port),
        "run": lambda _: ("run", asked),
        "probe": lambda _: ("probe", "--model", MODEL, "--pairs", 2, "--cases", 24),
        "redteam": lambda _: ("redteam", chatbot),
        "interact": lambda _: ("interact", interaction),
        "audit": lambda _: ("audit", audit),
        "evaluate": lambda begun: ("evaluate", mine.run().run_id, "--judge", f"{OTHER}-{begun}"),
        "report": lambda begun: (
            "report",
            "--format",
            ("html", "evidence")[begun % 2],
            "--out",
            mine.folder / "o",
        ),
        "build": lambda _: ("warehouse", "build", "--full"),
        "augment": lambda begun: (
            *("catalog", "augment", "--model", MODEL, *order, "--seed", begun),
            *("--out", mine.folder / f"review-{begun}.yaml"),
        ),
    }
    made = Serving if name == "serve" else Struck
    return made(mine, server, words[name], random.Random(f"{SEED}-{name}"))


@pytest.mark.parametrize("struck", list(TRIALS), indirect=True, ids=str)
def test_signals_and_kills_at_any_moment_lose_nothing_and_leave_nothing(struck, request):
    trials = round(TIMES * TRIALS[request.node.callspec.params["struck"]])
    try:
        struck.measure()
        for trial in range(trials):
            struck.strike(SIGNALS[trial % len(SIGNALS)])
    finally:
        sys.stdout.write("\n".join((*struck.log, f"{struck.missed} missed", "")))
    struck.check_whole()
    # each miss was tried again: how many there are depends on the pace of a shared machine
    assert struck.missed <= trials
