"""What the scripts share: replications from the command line, how much chance allows, and the exit code."""

import argparse
import sys
from collections.abc import Callable, Iterable
from math import sqrt
from pathlib import Path
from typing import NoReturn

sys.path.append(str(Path(__file__).resolve().parents[1]))  # for `support`


def run(measure: Callable[[int], Iterable[tuple[str, bool]]], separator: str = ": ") -> NoReturn:
    """Prints each line of `measure(replications)` and whether it holds; the exit code is 0 where all do."""
    parser = argparse.ArgumentParser()
    parser.add_argument("positional", nargs="?", type=int, default=1000, metavar="replications")
    parser.add_argument("--replications", type=int)
    given = parser.parse_args()
    found = []
    for line, holds in measure(given.replications or given.positional):
        print(f"{line}{separator}{'holds' if holds else 'DOES NOT HOLD'}", flush=True)
        found.append(holds)
    sys.exit(0 if found and all(found) else 1)


def margin(replications: int) -> float:
    """From .95 of 1,000 two hundredths; of fewer, three standard errors."""
    return max(0.02, 3 * sqrt(0.05 * 0.95 / replications) if replications < 1000 else 0)
