"""Commands that are killed or signalled at random moments: nothing is lost, asked again or left behind.

`BIASGRID_DRILL_SIGNALS` is how often; commands, signals and moments follow from a seed.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from biasgrid.warehouse.storage.runs import UNFINISHED, all_runs
from support.flows import write_yaml
from support.processes import PATIENCE_S, free_port, wait_until
from support.run_processes import shell

__all__ = ["shell"]
pytestmark = pytest.mark.drill

SEED = 20_261_124
TRIALS = int(os.environ.get("BIASGRID_DRILL_SIGNALS", "12"))
AT_ONCE = 4
LONGEST_S = float(os.environ.get("BIASGRID_DRILL_LONGEST_S", "25"))
"""Until a moment at most; a slow machine takes longer to get to each."""
GONE_S = 15.0
"""Seconds until what a killed process has started is gone."""
WORDS = (signal.SIGKILL, signal.SIGINT, signal.SIGKILL, signal.SIGTERM, signal.SIGKILL, signal.SIGHUP)
ASKING = ("run", "probe", "redteam", "interact")
LOOKING = ("evaluate", "report", "build", "augment")


@dataclass
class Struck:
    """One command after another in a folder of its own, each ended at a moment of its own."""

    shell: Any
    server: Any
    first: Callable[[], tuple[object, ...]]
    longest_s: float
    untouched: int = 0
    """Commands that ended by themselves while the signal was sent."""

    def words(self) -> tuple[object, ...]:
        runs = all_runs(self.shell.lake)
        return ("resume", runs[-1].run_id) if runs and runs[-1].state in UNFINISHED else self.first()

    def strike(self, chance: random.Random, word: signal.Signals) -> str:
        """Ends a command; what came of it, in words."""
        words, before = self.words(), len(self.server.bodies)
        kept = self.shell.arrived_texts()
        process = self.shell.start(*words)
        self.wait(chance, process, before)
        strike = os.killpg if chance.random() < 0.5 else os.kill
        twice = word != signal.SIGKILL and chance.random() < 0.4
        was_over = process.poll() is not None
        for number in range(1 + twice):
            time.sleep(number * chance.choice((0.0, 1.5)))
            with suppress(ProcessLookupError):
                strike(process.pid, word)
        out, err = process.communicate(timeout=PATIENCE_S)
        self.check_end(process, word, out, err, was_over=was_over)
        now = self.shell.arrived_texts()
        assert kept.items() <= now.items(), words
        sent = len(self.server.bodies) - before
        return f"{words[0]} {word.name} {process.returncode}: {sent} sent, {len(now) - len(kept)} arrived"

    def wait(self, chance: random.Random, process: subprocess.Popen[str], before: int) -> None:
        """Until some requests have been sent, or for a while: every moment comes up, on slow machines, too."""
        enough, patience_s = before + chance.randint(1, 30), chance.uniform(0, self.longest_s)
        if chance.random() < 0.6:
            deadline, patience_s = time.monotonic() + PATIENCE_S, chance.uniform(0, 0.5)
            while process.poll() is None and len(self.server.bodies) < enough and time.monotonic() < deadline:
                time.sleep(0.005)
        with suppress(subprocess.TimeoutExpired):
            process.wait(patience_s)

    def check_end(
        self, process: subprocess.Popen[str], word: signal.Signals, out: str, err: str, *, was_over: bool
    ) -> None:
        assert "Traceback" not in out + err, err
        assert "Exception ignored" not in err, err
        code, lines = process.returncode, err.count("biasgrid: interrupted")
        if was_over or (not lines and 0 <= code <= 4):
            self.untouched += not was_over
            assert (lines, 0 <= code <= 4) == (0, True), err
        else:  # before the first line of the command is read, Python itself ends by the signal
            assert (code, lines) in ((128 + word, 1), (-word, 0)), err
        wait_until(lambda: not _group_exists(process.pid), patience_s=GONE_S)


def _group_exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture
def server(gateway: Any) -> Any:
    """A respondent that plays every part, 100 ms away."""
    own = {"strength": 0.3, "conformity": 0.8, "corrects": 0.5}
    limits = {"limits": {"concurrency": AT_ONCE}}
    return gateway("slow", limits, latency_ms=100, leaning={"default": 0.8}, yields_after=5, assigning=own)


@pytest.fixture
def struck(shell: Any, server: Any, scenario_file: Any, tmp_path: Path) -> dict[str, Struck]:
    model = "gateway/slow"
    talks = {"models": [model], "scenes": ["office-server-migration"], "settings": ["no_goal"], "runs": 2}
    attack = {
        "attacker": "simulated/attacker",
        "judge": "simulated/red-judge",
        "pairs": ["doctor-nurse"],
        "turns": 4,
    }
    target = {"target": {"models": [model], "company": "Acme", "purpose": "advice"}, "redteam": attack}
    chatbot = write_yaml(tmp_path / "chatbot.yaml", target)
    interaction = write_yaml(tmp_path / "talks.yaml", {"interaction": talks})
    scenario, finished = scenario_file([model]), shell("finished", served=False)
    code, _, err = finished.finish("run", scenario)
    assert code in (0, 1, 4), err
    ordered = ("--model", model, "--concern", "sexism", "--context", "a kitchen", "--count", 40)

    def in_own_folder(name: str, *words: object, longest_s: float = LONGEST_S) -> Struck:
        return Struck(shell(name, served=False), server, lambda: words, longest_s)

    looked_at = {
        "evaluate": lambda: ("evaluate", finished.run().run_id),
        "report": lambda: ("report", finished.run().run_id, "--out", finished.folder / "pages"),
        "build": lambda: ("warehouse", "build", "--full"),
    }
    return {
        "run": in_own_folder("run", "run", scenario),
        "probe": in_own_folder("probe", "probe", "--model", model, "--pairs", 2, "--cases", 24),
        "redteam": in_own_folder("redteam", "redteam", chatbot),
        "interact": in_own_folder("interact", "interact", interaction),
        "augment": in_own_folder("augment", "catalog", "augment", *ordered, longest_s=8.0),
        **{name: Struck(finished, server, words, 8.0) for name, words in looked_at.items()},
    }


def test_signals_and_kills_at_any_moment_lose_nothing_and_leave_nothing(struck, server):
    chance = random.Random(SEED)
    names = [*ASKING, *LOOKING]
    lines = []
    for trial in range(TRIALS):
        # each command meets each signal as trials go on
        one = struck[names[trial % len(names)]]
        lines.append(one.strike(chance, WORDS[(trial + 5 * (trial // len(names))) % len(WORDS)]))
    sys.stdout.write("\n".join(lines) + "\n")
    assert sum(one.untouched for one in struck.values()) <= TRIALS // 20
    for name in ASKING:
        one = struck[name]
        if all_runs(one.shell.lake) and one.words()[0] == "resume":
            code, _, err = one.shell.finish(*one.words())
            assert code in (0, 1, 4), err
        replies = one.shell.lake.read("responses")
        answered = replies.filter(replies["text"].is_not_null())
        assert answered.select("run_id", "request_key").n_unique() == answered.height
        assert one.shell.journals() == []
    landed = sum(
        len(shell.lake.read("responses")) for shell in {id(s.shell): s.shell for s in struck.values()}.values()
    )
    assert len(server.bodies) - landed <= AT_ONCE * TRIALS


def test_serving_ends_in_order_at_any_moment(shell):
    chance = random.Random(SEED)
    for word in WORDS[1::2][: max(TRIALS // 24, 1)]:
        mine = shell(f"serving-{word.name}", served=False)
        words = ("serve", "--port", free_port(), "--model", "simulated/fair")
        process = mine.start(*words)
        with suppress(subprocess.TimeoutExpired):
            process.wait(chance.uniform(0, 25))
        os.killpg(process.pid, word)
        out, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode in (128 + word, -word), err
        assert "Traceback" not in out + err, err
        wait_until(lambda folder=mine.folder: not _of_home(folder), patience_s=GONE_S)  # type: ignore[misc]


def _of_home(folder: Path) -> list[str]:
    """Processes whose Prefect home is in this folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if f"PREFECT_HOME={folder}/".encode() in path.read_bytes():
                found.append(path.parent.joinpath("cmdline").read_text())
    return found
