"""One run, killed again and again wherever it happens to be, and resumed each time.

`BIASGRID_DRILL_KILLS` is how often; the moments follow from a seed.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from biasgrid.warehouse.storage.runs import all_runs
from support.processes import PATIENCE_S, kill_group

pytestmark = pytest.mark.drill

SEED = 20_261_121
KILLS = int(os.environ.get("BIASGRID_DRILL_KILLS", "12"))
LATENCY_S, AT_ONCE = 0.25, 8

EARLY = ("preparing", "generating")
MIDDLE = ("prompting", "landing", "prompting", "evaluating")
LATE = ("aggregating", "renaming", "evaluating")


def moments(kills: int) -> list[str]:
    """What the run is at when it is killed, in the order in which a run gets there."""
    early, middle = [EARLY[i % 2] for i in range(kills // 6)], [MIDDLE[i % 4] for i in range(kills // 2)]
    return [*early, *middle, *(LATE[i % 3] for i in range(kills - len(early) - len(middle)))]


class Sign:
    """Waits until a process is seen at a certain work, and then for a random while longer."""

    def __init__(self, root: Path, server: Any, chance: random.Random) -> None:
        self._root, self._server, self._chance = root, server, chance
        self._enough = len(server.bodies) + chance.randint(8, 24)
        self._before = {table: self._last_change(table) for table in ("responses", "verdicts")}
        self._old = self._warehouse()

    def wait(self, moment: str, process: subprocess.Popen[str]) -> None:
        seen, longest = self._signs_by_moment()[moment]
        deadline = time.monotonic() + PATIENCE_S
        while process.poll() is None and not seen():
            assert time.monotonic() < deadline, moment
            time.sleep(0.001)
        time.sleep(self._chance.uniform(0, longest))

    def _signs_by_moment(self) -> dict[str, tuple[Callable[[], bool], float]]:
        """By what each moment is known, and how many seconds it lasts about."""
        return {
            "preparing": (lambda: True, 2.5),
            "generating": (lambda: any(self._root.glob("lake/runs/*/*.parquet")), 0.4),
            "prompting": (lambda: len(self._server.bodies) >= self._enough, LATENCY_S),
            "landing": (lambda: self._last_change("responses") > self._before["responses"], 0.01),
            "evaluating": (lambda: self._last_change("verdicts") > self._before["verdicts"], 0.1),
            "aggregating": (lambda: any(self._root.glob(".*.partial")), 0.5),
            "renaming": (lambda: self._warehouse() != self._old, 0.002),
        }

    def _last_change(self, table: str) -> int:
        """When a file last came or went."""
        return max((folder.stat().st_mtime_ns for folder in self._root.glob(f"lake/{table}/*")), default=0)

    def _warehouse(self) -> int | None:
        path = self._root / "biasgrid.duckdb"
        return path.stat().st_ino if path.exists() else None


@pytest.fixture
def asked(scenario_file: Any, requirement: Any) -> Path:
    """A scenario with enough prompts left for every kill."""
    both = [requirement(), requirement(name="colors-alike", concern="racism", communities="skin_color")]
    path: Path = scenario_file(["gateway/slow"], both, templates=6, samples=1 + KILLS // 12)
    return path


def test_kills_at_any_moment_lose_nothing_ask_nothing_twice_and_change_no_finding(shell, slow, asked):
    chance = random.Random(SEED)
    killed = shell("killed")
    kept: dict[str, tuple[str, str]] = {}
    asked_when_kept: dict[str, int] = {}
    struck: Counter[str] = Counter()
    for moment in moments(KILLS):
        sign = Sign(killed.data, slow, chance)
        process = killed.start(*_next_command(killed, asked))
        sign.wait(moment, process)
        struck[moment if process.poll() is None else "ended by itself"] += 1
        kill_group(process)
        assert process.returncode in (-signal.SIGKILL, 0, 1)
        now = killed.arrived_replies()
        assert kept.items() <= now.items(), moment
        texts, times = killed.prompts(), Counter(slow.prompts())
        asked_when_kept |= {key: times[texts[key]] for key in now.keys() - kept.keys()}
        kept = now
    asked_so_far = len(slow.bodies)

    code, _, err = killed.finish("resume", killed.run().run_id)
    assert code in (0, 1), err
    assert killed.run().state == "completed"

    texts, times = killed.prompts(), Counter(slow.prompts())
    again = len(slow.bodies) - sum(_samples_by_prompt(killed).values())
    _print(f"{dict(struck)}; {len(texts)} cases, {len(slow.bodies)} requests, {again} of them again; ")
    assert kept.items() <= killed.arrived_replies().items()
    assert len(slow.bodies) - asked_so_far == len(texts) - len(kept)
    assert again <= AT_ONCE * struck.total()
    for text, samples in _samples_by_prompt(killed).items():
        assert times[text] >= samples
    answered = killed.lake.read("responses").filter(pl.col("text").is_not_null())
    assert answered["request_key"].n_unique() == answered.height == len(texts)
    assert killed.journals() == []
    assert struck["ended by itself"] <= KILLS // 4

    undisturbed = shell("undisturbed")
    assert undisturbed.finish("run", asked)[0] == code
    assert killed.findings() == undisturbed.findings()


def _next_command(killed: Any, asked: Path) -> tuple[object, ...]:
    runs = all_runs(killed.lake)
    return ("resume", runs[0].run_id) if runs else ("run", asked)


def _samples_by_prompt(shell: Any) -> Counter[str]:
    """How often each prompt is to be asked."""
    return Counter(shell.prompts().values())


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
