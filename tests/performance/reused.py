"""A run whose replies are all there already, against a running Prefect server: seconds, CPU seconds and memory.

    python tests/performance/reused.py [--prompts 2000] [--repeats 3]

The first run asks a loopback endpoint; the measured ones are `biasgrid run --reuse all` of the same scenario in
the same data directory, and send nothing. The floor is a flow that does nothing, against the same server.
"""

import tempfile
from contextlib import ExitStack
from pathlib import Path

from rig import options
from rig.endpoint import Behaviour
from rig.loopback import loopback
from rig.runs import Setting, flaws, watch
from rig.scenario import write_scenario
from rig.table import at_most, table

from support.prefect_server import prefect_server

SECONDS, MEGABYTES = 3.5, 400.0
CONCURRENCY = 64


def main() -> None:
    asked = options(__doc__, prompts=2000, repeats=3)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch, ExitStack() as stack:
        folder = Path(scratch)
        server = stack.enter_context(loopback(Behaviour()))
        prefect = stack.enter_context(prefect_server(folder / "served"))
        written = write_scenario(folder / "scenario", server.base_url, asked.prompts, CONCURRENCY)
        setting = Setting(written, folder / "home", folder / "run", prefect.api)
        first = watch("all are asked", asked.prompts, setting.run("data", "--yes"), server)
        again = setting.run("data", "--yes", "--reuse", "all")
        reused = [watch(f"all are reused, {turn + 1}", 0, again, server) for turn in range(asked.repeats)]
        floor = watch("floor: an empty flow", 0, setting.empty_flow(), server)
        for flaw in (*flaws(first, asked.prompts), *(flaw for whole in reused for flaw in flaws(whole, 0))):
            print(f"  not to be counted: {flaw}")
    columns = ("run", "s", "CPU s", "process MB", "with children MB", "load")
    rows = [
        [one.name, one.spent.wall_s, one.spent.cpu_s, one.spent.own_peak_mb, one.spent.peak_mb, one.load]
        for one in (first, *reused, floor)
    ]
    print(table(f"{asked.prompts:,} prompts", columns, rows))
    best = min(reused, key=lambda one: one.spent.wall_s).spent
    print(f"  seconds, times the floor: {best.wall_s / floor.spent.wall_s:.1f}")
    print(at_most("seconds, the fastest", best.wall_s, SECONDS))
    print(at_most("peak MB of the process", best.own_peak_mb, MEGABYTES))


if __name__ == "__main__":
    main()
