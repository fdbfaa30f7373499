"""How much of an endpoint's speed is left when replies are asked, retried, journalled and landed.

    python tests/performance/prompting.py [--repeats 3] [--at 10 64 256] [--whole] [--peers]

One loopback endpoint with 100 ms latency. The phase alone: biasgrid's compared with a loop over openai's SDK on
its fastest transport, bare aiohttp (the floor), and one question after another. `--whole` adds
processes from start to findings, `--peers` other tools' as well, each installed in an environment of its own.
"""

import subprocess
from dataclasses import replace
from statistics import median

from rig import options
from rig.loopback import Loopback, loopback
from rig.phase import Figures, run_phase
from rig.phases import CELLS
from rig.table import at_least, at_most, table
from rig.timing import load
from rig.whole import PROMPTS, compare_whole

SIZES = {10: 2966, 64: 2966, 256: 10_000}
SHARES = {10: 0.95, 64: 0.95, 256: 0.90}
CPU_RATIO = 1.25
CONTENDERS = ("SDK loop", "biasgrid", "aiohttp")
SEQUENTIAL = 50
SEQUENTIAL_S = 305 / 2966
"""What LangBiTe took per prompt on a quiet machine: a busy one must not flatter us."""
Measured = dict[str, list[Figures]]


class Miscounted(RuntimeError):
    """The endpoint received other requests than expected."""


def measure(server: Loopback, concurrency: int, repeats: int, cells: int) -> Measured:
    """Every contender `repeats` times, in turns. A turn in which one failed, or sent more or less than it
    should, is reported and not counted."""
    found: Measured = {contender: [] for contender in CONTENDERS}
    for _ in range(repeats):
        try:
            turn = {
                name: _phase(server, name, _count(name, concurrency), concurrency, cells) for name in CONTENDERS
            }
        except (subprocess.CalledProcessError, Miscounted) as error:
            print(f"\na turn at {concurrency} is not counted: {error}")
            continue
        for name, figures in turn.items():
            found[name].append(figures)
    return found


def _turn(server: Loopback, concurrency: int, cells: int) -> dict[str, Figures]:
    counts = {name: _count(name, concurrency) for name in CONTENDERS}
    return {name: _phase(server, name, count, concurrency, cells) for name, count in counts.items()}


def _count(contender: str, concurrency: int) -> int:
    """At 10 the floor waits for the endpoint like the others: a third of the prompts is enough."""
    return SIZES[concurrency] // (3 if contender == "aiohttp" and concurrency == 10 else 1)


def _phase(server: Loopback, contender: str, count: int, concurrency: int, cells: int) -> Figures:
    figures = run_phase(contender, server.base_url, count, concurrency, cells)
    traffic = server.traffic()
    if not traffic.received == traffic.answered == count:
        raise Miscounted(f"{contender} sent {traffic.received:,} requests for {count:,} prompts")
    return replace(figures, asking_s=traffic.span_s)


def sequential(server: Loopback) -> float:
    """Seconds per prompt, one question after another: as measured, or as stated where that is less."""
    figures = _phase(server, "sequential", SEQUENTIAL, 1, 1)
    result = f"{figures.wall_s:.1f} s for {SEQUENTIAL} prompts"
    whole = f"extrapolated {figures.wall_s / SEQUENTIAL * SIZES[64]:.0f} s for {SIZES[64]:,}"
    print(f"\none question after another, measured: {result}; {whole}; {figures.cpu_ms:.2f} ms CPU each")
    return min(figures.wall_s / SEQUENTIAL, SEQUENTIAL_S)


def report(concurrency: int, found: Measured) -> None:
    if not found["biasgrid"]:
        return
    title = f"the prompting phase, {SIZES[concurrency]:,} prompts at {concurrency}"
    columns = (
        "contender",
        "requests/s",
        "CPU ms each",
        "peak MB",
        "wall s",
        "asking s",
        "load",
        "of SDK loop",
        "of floor",
    )
    print(table(title, columns, [_row(name, found) for name in found]), flush=True)
    speed = _ratio(found, "biasgrid", "SDK loop", "per_second")
    print(at_least("requests a second, of the SDK loop's", speed, SHARES[concurrency]))
    print(
        at_most(
            "CPU per request, times the SDK loop's", _ratio(found, "biasgrid", "SDK loop", "cpu_ms"), CPU_RATIO
        )
    )


def _row(name: str, found: Measured) -> list[object]:
    middle = [
        _median(found[name], field) for field in ("per_second", "cpu_ms", "peak_mb", "wall_s", "asking_s", "load")
    ]
    return [name, *middle, *(_ratio(found, name, other, "per_second") for other in ("SDK loop", "aiohttp"))]


def _median(figures: list[Figures], field: str) -> float:
    return float(median(getattr(each, field) for each in figures))


def _ratio(found: Measured, one: str, other: str, field: str) -> float:
    """The median of the ratios turn by turn: what slows the machine for a while slows both."""
    turns = zip(found[one], found[other], strict=True)
    return float(median(getattr(mine, field) / getattr(theirs, field) for mine, theirs in turns))


def main() -> None:
    asked = options(
        __doc__,
        repeats={"type": int, "default": 1, "help": "medians of so many turns"},
        at={"type": int, "nargs": "*", "default": [*SIZES], "choices": [*SIZES], "help": "concurrency"},
        cells={"type": int, "default": CELLS, "help": "grid cells of the prompting phase"},
        whole={"action": "store_true", "help": "whole processes, start to findings"},
        peers={"action": "store_true", "help": "other tools' whole processes as well"},
        prompts={"type": int, "default": PROMPTS, "help": "of a whole process"},
    )
    print(f"100 ms latency, medians of {asked.repeats}; load average at the start {load():.2f}")
    with loopback() as server:
        each_s = sequential(server)
        for concurrency in asked.at:
            report(concurrency, measure(server, concurrency, asked.repeats, asked.cells))
        if asked.whole or asked.peers:
            compare_whole(server, asked.prompts, asked.repeats, each_s, with_peers=asked.peers)


if __name__ == "__main__":
    main()
