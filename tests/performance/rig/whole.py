"""Whole processes compared: `biasgrid run` with and without a Prefect server, and other tools."""

import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import median

from peers.installed import installed_peers

from rig.loopback import Loopback
from rig.runs import Whole
from rig.stage import ALL, ALL_EPHEMERAL, ALL_SERVED, CONCURRENCY, EPHEMERAL, SERVED, VERSION, empty, staged, warm
from rig.table import at_least, at_most, table

PROMPTS = 2000
WARM_S, VERSION_S = 5.0, 0.5
PEER_BOUNDS = {
    ("inspect-ai", EPHEMERAL): 2.5,
    ("inspect-ai", SERVED): 5.0,
    ("promptfoo", EPHEMERAL): 1.0,
    ("promptfoo", SERVED): 1.0,
    ("lm-eval", EPHEMERAL): 1.0,
    ("lm-eval", SERVED): 1.0,
}
"""How many times as fast as a peer a whole run shall be."""
SEQUENTIAL_BOUNDS = {ALL_EPHEMERAL: 12.0, ALL_SERVED: 30.0}
COLUMNS = (
    "process",
    "wall s",
    "to 1st request",
    "asking",
    "after",
    "prompts/s",
    "CPU ms each",
    "CPU s",
    "server's CPU s",
    "peak MB",
    "own MB",
    "load",
)
Found = dict[str, list[Whole]]


def compare_whole(server: Loopback, prompts: int, repeats: int, each_s: float, *, with_peers: bool) -> None:
    """Measure and print. `each_s`: what a prompt takes when they are asked one after another."""
    peers = installed_peers() if with_peers else []
    found: Found = defaultdict(list)
    scratch = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    with scratch as folder, staged(server, Path(folder)) as stage:
        for turn in range(repeats):
            for contender in stage.contenders(prompts, peers):
                found[contender.name] += contender.measure(turn)
    measured = {name: wholes for name, wholes in found.items() if wholes}
    title = f"whole processes, {prompts:,} prompts at {CONCURRENCY}"
    print(table(title, COLUMNS, [_row(wholes) for wholes in measured.values()]))
    _bounds({name: median(whole.spent.wall_s for whole in wholes) for name, wholes in measured.items()}, each_s)


def _row(wholes: list[Whole]) -> list[object]:
    """The turn of the median duration."""
    whole = sorted(wholes, key=lambda each: each.spent.wall_s)[len(wholes) // 2]
    took, asked = whole.spent, whole.traffic.first is not None
    moments = [whole.before_s, whole.traffic.span_s if asked else None, whole.after_s]
    rates = [whole.per_second, whole.cpu_ms] if asked else [None, None]
    memory = [took.peak_mb, took.own_peak_mb]
    return [whole.name, took.wall_s, *moments, *rates, took.cpu_s, whole.server_cpu_s, *memory, whole.load]


def _bounds(took: dict[str, float], each_s: float) -> None:
    """Of median durations; what was not measured has none."""
    if VERSION in took:
        print(at_most("biasgrid --version, seconds", took[VERSION], VERSION_S))
    for name, bare in ((EPHEMERAL, empty("ephemeral")), (SERVED, empty("server"))):
        if warm(name) in took and bare in took:
            beyond = took[warm(name)] - took[bare]
            print(at_most(f"{warm(name)}: seconds beyond Prefect's start", beyond, WARM_S))
    for name, bound in SEQUENTIAL_BOUNDS.items():
        if name in took:
            times = each_s * ALL / took[name]
            print(at_least(f"{name}: times as fast as one question after another", times, bound))
    for (peer, name), bound in PEER_BOUNDS.items():
        if peer in took and name in took:
            print(at_least(f"{name}: times as fast as {peer}", took[peer] / took[name], bound))
