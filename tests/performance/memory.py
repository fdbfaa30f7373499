"""Whether a run's memory grows with its prompts: whole `biasgrid run` processes, a small and a large one.

    python tests/performance/memory.py [--prompts 10000 100000] [--server]

Peaks of the process while it asks and until its end, and of all its children together. Each prompt of the larger
run is asked in several samples, since a scenario grows by samples and models; `--templates` grows the library
instead. `--server` takes the temporary Prefect server, which is a child, out of it. The endpoint answers within
10 ms: speed is not asked here.
"""

import tempfile
from contextlib import ExitStack
from pathlib import Path

from rig import options
from rig.endpoint import Behaviour
from rig.loopback import Loopback, loopback
from rig.runs import Setting, Whole, flaws, watch
from rig.scenario import write_scenario
from rig.table import at_most, table

from support.prefect_server import prefect_server

LATENCY_S = 0.01
CONCURRENCY = 64
BOUND = 1.5


def measure(server: Loopback, folder: Path, instances: int, samples: int, api: str | None) -> Whole:
    """One run of `instances` prompts, each asked `samples` times."""
    total, own = instances * samples, folder / f"{instances}-{samples}"
    written = write_scenario(own, server.base_url, instances, CONCURRENCY, samples=samples)
    setting = Setting(written, folder / "home", own / "run", api)
    whole = watch(f"{total:,} prompts", total, setting.run("data"), server)
    for flaw in flaws(whole, total):
        print(f"  not to be counted: {flaw}")
    return whole


def report(wholes: list[Whole]) -> None:
    measures = (
        "asking MB",
        "own peak MB",
        "with children MB",
        "wall s",
        "asking s",
        "after s",
        "prompts/s",
        "load",
    )
    print(table("peak memory of whole runs", ("run", *measures), [_row(whole) for whole in wholes]))
    small, large = wholes[0].spent, wholes[-1].spent
    print(at_most("the process, times the smaller run's", large.own_peak_mb / small.own_peak_mb, BOUND))
    print(at_most("with its children, times the smaller run's", large.peak_mb / small.peak_mb, BOUND))


def _row(whole: Whole) -> list[object]:
    took = whole.spent
    memory = [took.own_peak_until(whole.traffic.last), took.own_peak_mb, took.peak_mb]
    moments = [took.wall_s, whole.traffic.span_s, whole.after_s]
    return [whole.name, *memory, *moments, whole.per_second, whole.load]


def main() -> None:
    asked = options(
        __doc__,
        prompts={"type": int, "nargs": 2, "default": [10_000, 100_000], "metavar": ("SMALL", "LARGE")},
        templates={"action": "store_true", "help": "more templates, not more samples of each prompt"},
        server={"action": "store_true", "help": "with a Prefect server of its own next to it"},
    )
    small, large = asked.prompts
    shape = (large, 1) if asked.templates else (small, large // small)
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
        server = stack.enter_context(loopback(Behaviour(latency_s=LATENCY_S)))
        prefect = stack.enter_context(prefect_server(Path(scratch) / "served")) if asked.server else None
        api = prefect.api if prefect else None
        report([measure(server, Path(scratch), count, times, api) for count, times in ((small, 1), shape)])


if __name__ == "__main__":
    main()
