"""Does the probe find what is there, and nothing else? Respondents of known association strength, through the real
prompts, readers and SQL.

    python tests/calibration/probes.py [replications, 1000 by default]

Each replication has its own names and its own respondent, which associates doctors with men and nurses with
women with probability .5 + s/2. By chance alone (s = 0) a pair may be flagged in 5% of them, in either direction;
the exact two-sided test of 40 prompts does so in 3.8% at most. At s = .6 at least 95% must be flagged,
at s = 1 all.
"""

import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from multiprocessing import get_context
from typing import Any

import harness
import polars as pl

from biasgrid.catalogs.choices import ProbeTest
from biasgrid.catalogs.scenario.targets import ResolvedProbe, resolve_probe
from biasgrid.catalogs.schema.respondents import Leaning, Respondent
from biasgrid.catalogs.schema.target_file import Asking
from biasgrid.flows.probe.prepare import catalog_stereotypes, list_prompts
from biasgrid.tasks.connectors.simulated.panel import Panel, Question
from biasgrid.tasks.evaluate.probe_verdicts import judge_trials
from biasgrid.tasks.evaluate.verdicts import Judging
from biasgrid.tasks.probe.cases import Asked, land_cases
from biasgrid.warehouse.build.build import build, query
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import begin_run

CASES = 40
STRENGTHS = (0.0, 0.3, 0.6, 1.0)
LEAST = {0.6: 0.95, 1.0: 1.0}
MOST_BY_CHANCE = 0.05
HIDING = "hiding"
Frames = tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]
Which = float | str
"""A strength, or the respondent that hides what it acts on."""


def measure(replications: int) -> Iterator[tuple[str, bool]]:
    with tempfile.TemporaryDirectory() as folder:
        lake = Lake.at(folder)
        run = begin_run(lake, "", "{}", {}, 0, "probe")
        parts = [(run.run_id, name, number) for name in (*STRENGTHS, HIDING) for number in range(replications)]
        chunks = [parts[start::8] for start in range(8)]
        with ProcessPoolExecutor(max_workers=2, mp_context=get_context("spawn")) as pool:
            for number, frames in enumerate(pool.map(simulate, chunks)):
                for table, rows in zip(("cases", "responses", "verdicts"), frames, strict=True):
                    lake.write(table, run.run_id, f"part-{number}", rows)
        run.record(lake, "aggregating")
        build(lake)
        yield from _check(lake, replications)


def simulate(parts: list[tuple[str, Which, int]]) -> Frames:
    """Cases, responses and verdicts of some replications, each as a model of its own."""
    cases, replies, verdicts = zip(*(_replication(*part) for part in parts), strict=True)
    return pl.concat(cases), pl.concat(replies), pl.concat(verdicts)


@cache
def _known(tests: tuple[ProbeTest, ...]) -> ResolvedProbe:
    probed = {"pairs": ["doctor-nurse"], "cases": CASES, "tests": tests, "detailed": True}
    return resolve_probe({"target": {"models": ["simulated/fair"]}, "probe": probed})


def _replication(run_id: str, which: Which, number: int) -> Frames:
    resolved = _known(("implicit", "explicit") if which == HIDING else ("implicit",))
    seeded = resolved.file.model_copy(update={"asking": Asking(seed=number)})
    resolved = replace(resolved, file=seeded)
    prompts = list_prompts(resolved, catalog_stereotypes(resolved), seeded.probe.tests)
    target = resolved.targets["simulated/fair"].model_copy(update={"model": f"simulated/{which}-{number}"})
    with tempfile.TemporaryDirectory() as folder:
        lake = Lake.at(folder)
        land_cases(lake, run_id, prompts, [Asked(target, resolved.catalog, resolved)])
        cases = lake.read("cases", run_id)
    replies = _replies(cases, which, number)
    return cases, replies, judge_trials(cases, replies, Judging(resolved.catalog.languages, run_id, NOW))


NOW = datetime.now(UTC)


@cache
def _panel(tests: tuple[ProbeTest, ...] = ("implicit",)) -> Panel:
    return Panel(_known(tests).catalog)


def _replies(cases: pl.DataFrame, which: Which, number: int) -> pl.DataFrame:
    leaning = Leaning(default=0.6, states="nothing") if which == HIDING else Leaning(default=float(which))
    respondent = Respondent(id="leaning", description="", leaning=leaning, seed=number)
    rows = [
        {
            "run_id": case["run_id"],
            "cell_id": case["cell_id"],
            "provider": case["provider"],
            "model": case["model"],
            "sample": case["sample"],
            "attempts": 1,
            "response_id": f"reply-{case['case_id']}",
            "case_id": case["case_id"],
            "request_key": case["request_key"],
            "purpose": "subject",
            "text": _panel().reply(Question(respondent, case["messages"][-1]["content"], number)).text,
            "received_at": NOW,
        }
        for case in cases.iter_rows(named=True)
    ]
    nothing = [pl.lit(None, dtype=pl.String).alias(name) for name in ("finish_reason", "error_class")]
    return pl.DataFrame(rows).with_columns(nothing)


def _check(lake: Lake, replications: int) -> Iterator[tuple[str, bool]]:
    rows = query(lake, FLAGGED).to_dicts()
    flagged: dict[tuple[str, str], Any] = {(row["respondent"], row["test"]): row for row in rows}
    for strength in STRENGTHS:
        row = flagged[str(strength), "implicit"]
        share = row["flagged"] / replications
        counted = f"flagged in {share:.3f} of {replications}, score {row['score']:.3f}"
        recovered = abs(row["score"] - strength) < 0.02 + 0.64 / replications**0.5
        yield f"strength {strength:g}, {CASES} cases: {counted}", _holds(strength, share) and recovered
    hidden = flagged[HIDING, "implicit"]["flagged"] / replications
    stated = flagged[HIDING, "explicit"]["flagged"] / replications
    yield f"hiding: implicit found in {hidden:.3f}, explicit in {stated:.3f}", hidden >= 0.95 and stated == 0


def _holds(strength: float, share: float) -> bool:
    return share <= MOST_BY_CHANCE if strength == 0 else share >= LEAST.get(strength, 0.0)


FLAGGED = """
    select
        regexp_extract(model, '/(.*)-', 1) as respondent,
        test,
        count(*) filter (where starts_with(finding, 'biased')) as flagged,
        avg(score) as score
    from marts.probe_findings
    group by all
"""

if __name__ == "__main__":
    harness.run(measure)
