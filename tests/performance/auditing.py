"""An audit of as many decisions as a benchmark has replies: what each stage takes compared with the benchmark.

    python tests/performance/auditing.py [--decisions 100000] [--repeats 1]

Both are whole processes that ask one loopback endpoint, which answers at once. Half of its replies are Yes, so
half of the pairs differ: more than an audit has. Ratios are of CPU seconds, which other work lengthens less.
"""

import json
import math
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from peers.recipe import Launch
from rig import options
from rig.building import build_alone
from rig.endpoint import Behaviour
from rig.loopback import Loopback, loopback
from rig.processes import Spent, run_measured
from rig.runs import BIASGRID, MET, NOT_MET, home_environment, watch
from rig.scenario import Written, write_scenario
from rig.table import at_most, table
from rig.timing import load

PAIRS, SIGNALS, CONCURRENCY, RATIO = 16, ("names", "pronouns", "affiliations"), 64, 1.2
EACH = PAIRS * len(SIGNALS) * 2
"""Decisions about a document."""


@dataclass(frozen=True)
class Stages:
    """CPU and wall seconds of each stage."""

    asking: tuple[float, float]
    build: tuple[float, float]
    pages: tuple[float, float]


def write_audit(folder: Path, decisions: int) -> Path:
    documents = folder / "documents.jsonl"
    texts = (
        {"text": f"{{name}} has worked for {at} days, and asks for a post."} for at in range(decisions // EACH)
    )
    documents.write_text("\n".join(map(json.dumps, texts)))
    own = {
        "models": ["loopback/m"],
        "prompt": "{identity}\n\n{document}",
        "documents": {"path": documents.name},
        "reference": "men",
        "groups": ["women"],
        "signals": SIGNALS,
        "pairs": PAIRS,
        "margin": 3,
    }
    path = folder / "audit.yaml"
    path.write_text(json.dumps({"audit": own}))
    return path


def measure(words: list[str], folder: Path, written: Written, server: Loopback, asked: int) -> Stages:
    """One run, its warehouse built anew and its pages. Raises RuntimeError where it did not come to its end."""
    folder.mkdir()
    environment = home_environment(folder / "prefect") | {"BIASGRID_CATALOG": str(written.catalog)}

    def launch(*own: str) -> Launch:
        return Launch([str(BIASGRID), *own, "--data", str(folder / "data")], folder, environment)

    whole = watch(words[0], asked, launch(*words, "--yes"), server)
    if whole.spent.code not in (MET, NOT_MET, 4) or whole.traffic.answered < asked:
        raise RuntimeError(f"{words[0]}: {whole.traffic.answered:,} of {asked:,}: {whole.spent.output[-500:]}")
    build = build_alone(folder / "data")
    pages = run_measured(launch("report", "--out", str(folder / "pages")))
    return Stages(_seconds(whole.spent), (build.cpu_s, build.wall_s), _seconds(pages))


def _seconds(spent: Spent) -> tuple[float, float]:
    return spent.cpu_s, spent.wall_s


def compare(decisions: int, repeats: int, folder: Path) -> Iterator[dict[str, Stages]]:
    with loopback(Behaviour(latency_s=0.0, yes=0.5)) as server:
        asked = decisions // EACH * EACH
        written = write_scenario(folder / "asked", server.base_url, asked, CONCURRENCY)
        audit = write_audit(folder, asked)
        runs = {
            "benchmark": ["run", str(written.scenario), "--library", str(written.library)],
            "audit": ["audit", str(audit)],
        }
        for turn in range(repeats):
            yield {
                name: measure(words, folder / f"{name}-{turn}", written, server, asked)
                for name, words in runs.items()
            }


def main() -> None:
    given = options(__doc__, decisions=100_000, repeats=1)
    least = dict.fromkeys(Stages.__annotations__, math.inf)
    with tempfile.TemporaryDirectory() as name:
        for found in compare(given.decisions, given.repeats, Path(name)):
            rows = [
                [kind, *(second for stage in least for second in getattr(own, stage))]
                for kind, own in found.items()
            ]
            columns = ("", *(f"{stage} {unit}" for stage in least for unit in ("CPU s", "s")))
            print(table(f"{given.decisions:,} decisions, load {load():.1f}", columns, rows), flush=True)
            ratios = {
                stage: getattr(found["audit"], stage)[0] / getattr(found["benchmark"], stage)[0] for stage in least
            }
            least = {stage: min(ratio, least[stage]) for stage, ratio in ratios.items()}
    for stage, ratio in least.items():
        print(at_most(f"{stage}, audit by benchmark", ratio, RATIO))
    raise SystemExit(any(ratio > RATIO for ratio in least.values()))


if __name__ == "__main__":
    main()
