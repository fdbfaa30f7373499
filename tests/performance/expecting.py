"""CPU seconds of `biasgrid warehouse check`, compared with `biasgrid warehouse build` of the same lake.

    python tests/performance/expecting.py LAKE [--times 5]

Whole processes in alternation, imports and child processes included.
"""

import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path

from rig.table import at_most, table

BOUND = 2.0
COMMAND = "from biasgrid.flows.cli.process import run; run()"


def measure(lake: Path, command: str) -> float:
    """User and system seconds of one command, which finds no earlier file."""
    (lake / "biasgrid.duckdb").unlink(missing_ok=True)
    before = os.times()
    subprocess.run(
        [sys.executable, "-c", COMMAND, "warehouse", command],
        env={**os.environ, "BIASGRID_DATA": str(lake)},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lake", type=Path, help="a data folder with a finished run; its warehouse is replaced")
    parser.add_argument("--times", type=int, default=5)
    return parser.parse_args()


def main() -> None:
    chosen = options()
    pairs = [[measure(chosen.lake, command) for command in ("build", "check")] for _ in range(chosen.times)]
    build, check = (statistics.median(column) for column in zip(*pairs, strict=True))
    print(table("CPU seconds", ("median", "build", "check"), [[f"of {chosen.times}", build, check]]))
    print(at_most("check, times build", check / build, BOUND))


if __name__ == "__main__":
    main()
