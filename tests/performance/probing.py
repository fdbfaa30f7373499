"""How close a whole probe comes to what latency alone would take.

    python tests/performance/probing.py [--repeats 3]

Twelve attribute pairs of twenty prompts each, over HTTP, at 100 ms latency and 32 requests at once: of a model
that associates at random, so that nothing follows, and of one that acts on stereotypes, so that the explicit test
does.
The bound: each stage's requests in as many turns as it takes, nothing between the stages. Measured from the first
request to the last reply of each stage, with what is between them and the process from start to end.
"""

import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import yaml
from rig import options
from rig.table import at_most, table
from rig.timing import load

from biasgrid.catalogs.loading.catalog import load_catalog
from biasgrid.tasks.connectors.simulated.server.app import RunningServer, build_app
from biasgrid.warehouse.build.build import query
from biasgrid.warehouse.storage.lake import Lake

PAIRS, CASES, CONCURRENCY, LATENCY_S = 12, 20, 32, 0.1
RATIO = 1.3
RESPONDENTS = {"slow-even": 0.0, "slow-leaning": 0.6}
"""What is probed, and how strongly it leans."""


def overlay(folder: Path, base_url: str) -> Path:
    """A catalog in which the respondents answer after the latency, over HTTP."""
    catalog = folder / "catalog"
    (catalog / "respondents").mkdir(parents=True)
    for name, strength in RESPONDENTS.items():
        leaning = {"leaning": {"default": strength}, "latency_ms": LATENCY_S * 1000}
        own = {"id": name, "description": "over a network", **leaning}
        (catalog / "respondents" / f"{name}.yaml").write_text(yaml.safe_dump(own))
    provider = {
        "connector": "openai",
        "base_url": f"{base_url}/v1",
        "limits": {"concurrency": CONCURRENCY},
        "models": "any",
    }
    (catalog / "models.yaml").write_text(yaml.safe_dump({"providers": {"loopback": provider}}))
    return catalog


def run_probe(catalog: Path, data: Path, respondent: str) -> float:
    """Runs a probe as a process; returns its seconds."""
    words = ["--model", f"loopback/{respondent}", "--pairs", PAIRS, "--cases", CASES, "--data", data]
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", "from biasgrid.flows.cli.process import run; run()", "probe", *map(str, words)],
        env={**os.environ, "BIASGRID_CATALOG": str(catalog)},
        capture_output=True,
        text=True,
        check=False,
    )
    took = time.perf_counter() - started
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr)
    return took


def stages(data: Path) -> Sequence[tuple[str, int, float, float]]:
    """Of each stage: its test, requests, and when its first was sent and its last answered."""
    return query(Lake.at(data), STAGES).rows()


STAGES = """
    select
        if(test = 'explicit', 'explicit', 'implicit') as stage,
        count(*),
        min(epoch(received_at) - latency_ms / 1000),
        max(epoch(received_at))
    from staging.stg_responses
    inner join intermediate.int_probe_readings using (run_id, case_id)
    group by stage
    order by stage desc
"""


def main(repeats: int) -> None:
    found: list[tuple[str, float, Sequence[tuple[str, int, float, float]]]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["BIASGRID_CATALOG"] = str(overlay(folder, "http://127.0.0.1:1"))
        with RunningServer(build_app(load_catalog())) as server:
            (folder / "again").mkdir()
            catalog = overlay(folder / "again", server.base_url)
            for respondent in [name for _ in range(repeats) for name in RESPONDENTS]:
                data = folder / f"data-{len(found)}"
                wall_s = run_probe(catalog, data, respondent)
                found.append((respondent, wall_s, stages(data)))
    rows = [_row(*turn) for turn in found]
    title = f"{PAIRS} pairs × {CASES} prompts at {CONCURRENCY}, load {load():.1f}"
    print(table(title, ("turn", "requests", "bound s", "asking s", "ratio", "between s", "process s"), rows))
    for respondent in RESPONDENTS:
        ratios = [float(str(row[4])) for row in rows if row[0] == respondent]
        print(at_most(f"asking {respondent} beside the latency's bound", median(ratios), RATIO))


def _row(respondent: str, wall_s: float, expected: Sequence[tuple[str, int, float, float]]) -> list[object]:
    bound = sum(math.ceil(requests / CONCURRENCY) * LATENCY_S for _, requests, _, _ in expected)
    asking = sum(last - first for _, _, first, last in expected)
    between = expected[1][2] - expected[0][3] if len(expected) > 1 else 0.0
    return [respondent, sum(stage[1] for stage in expected), bound, asking, asking / bound, between, wall_s]


if __name__ == "__main__":
    main(options(__doc__, repeats=3).repeats)
