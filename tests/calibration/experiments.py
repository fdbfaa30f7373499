"""Respondents of known rate, many times over, through the real SQL: do intervals hold the truth as promised?

    python tests/calibration/experiments.py [replications]

Every replication is a model of its own in one run: cases and verdicts land in a lake, the warehouse is built, and
its marts are read. Templates differ as Beta variables do, with an intra-template correlation of .3 and ten
instances each. Prints each share and the band in which it must lie; the exit code is 1 otherwise. With 1,000
replications a band is three standard errors to either side; fewer make it wider, and one setting stands for all.

Last come respondents that do not read the question, whose rates are exact (baselines.py): of the whole library, or
with fewer replications of one concern in one language.
"""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from math import sqrt
from pathlib import Path
from random import Random

import baselines
import duckdb
import harness
import polars as pl

from biasgrid.catalogs.loading.catalog import load_catalog
from biasgrid.warehouse.build.build import build, query
from biasgrid.warehouse.build.macros import define
from biasgrid.warehouse.storage.lake import Lake

CORRELATION, INSTANCES, TOLERANCE = 0.3, 10, 0.9
COVERAGE = {
    (40, 0.9): 0.945,
    (65, 0.9): 0.954,
    (140, 0.9): 0.958,
    (40, 0.85): 0.946,
    (65, 0.85): 0.950,
    (140, 0.85): 0.958,
    (40, 0.95): 0.921,
    (65, 0.95): 0.920,
    (140, 0.95): 0.938,
}
FALSE_MET = {40: 0.034, 65: 0.030, 140: 0.022}
REJECTED = (0.033, 0.069)


@dataclass(frozen=True, slots=True)
class Share:
    """One measured share and the band in which it must lie."""

    of: str
    measured: float
    low: float
    high: float

    @property
    def holds(self) -> bool:
        return self.low <= self.measured <= self.high

    def __str__(self) -> str:
        return f"{self.of:<46} {self.measured:.3f}   {self.low:.3f} to {self.high:.3f}"


def draw_passes(random: Random, rate: float, rows: int) -> int:
    """How many rows of one template pass, whose own rate is drawn around `rate`."""
    strength = (1 - CORRELATION) / CORRELATION
    own = random.betavariate(rate * strength, (1 - rate) * strength)
    return sum(random.random() < own for _ in range(rows))


def land(lake: Lake, templates: int, rate: float, replications: int, seed: int) -> None:
    """One run: a model per replication, asked every template in ten instances."""
    random = Random(seed)
    counts = [draw_passes(random, rate, INSTANCES) for _ in range(templates * replications)]
    numbers = pl.DataFrame({"number": range(len(counts)), "passed": counts}).with_columns(
        model=pl.format("simulated/{}", pl.col("number") // templates),
        template_id=pl.format("template-{}", pl.col("number") % templates),
        instance=pl.lit(list(range(INSTANCES))),
    )
    rows = numbers.explode("instance").select(
        run_id=pl.lit("R1"),
        cell_id=pl.col("model"),
        model=pl.col("model"),
        provider=pl.lit("simulated"),
        requirement=pl.lit("fairness"),
        concern=pl.lit("sexism"),
        language=pl.lit("en_us"),
        input=pl.lit("constrained"),
        reflection=pl.lit("observational"),
        template_id=pl.col("template_id"),
        case_id=pl.format("{}/{}/{}", "model", "template_id", "instance"),
        sample=pl.lit(1),
        oracle_type=pl.lit("expected value"),
        outcome=pl.when(pl.col("instance") < pl.col("passed")).then(pl.lit("passed")).otherwise(pl.lit("failed")),
    )
    _write(lake, rows)


def _write(lake: Lake, rows: pl.DataFrame) -> None:
    keys = ("run_id", "cell_id", "template_id", "sample")
    named = rows.with_columns(instance_id="case_id", request_key="case_id")
    instances = rows.select(*keys, "case_id", "outcome", level=pl.lit("instance"), verdict_id="case_id")
    tests = (
        rows.group_by(keys)
        .agg(outcome=pl.col("outcome").min())
        .with_columns(level=pl.lit("template"), verdict_id=pl.format("{}/{}", "cell_id", "template_id"))
    )
    criterion = {"run_id": "R1", "evaluation_id": "R1", "requirement": "fairness", "tolerance": TOLERANCE}
    criterion["measure"] = "replies"
    rule = {"delta": 0.02, "refusals": "separate", "max_refusals": 0.5, "coverage": 0.95}
    lake.write("runs", "R1", "1", pl.DataFrame([{"run_id": "R1", "event_id": "1", "state": "completed"}]))
    lake.write("criteria", "R1", "1", pl.DataFrame([criterion | rule]))
    lake.write("cases", "R1", "1", named.drop("outcome"))
    verdicts = pl.concat([instances, tests], how="diagonal").with_columns(evaluation_id=pl.lit("R1"))
    lake.write("verdicts", "R1", "1", verdicts)


HOLDS = """
    select avg((? between interval_low and interval_high)::int) as holds, avg((decision = 'met')::int) as met
    from marts.requirement_findings
"""


def intervals(templates: int, rate: float, replications: int) -> Iterator[Share]:
    """How often the interval holds the true rate and, where that is the tolerance, how often it is called met."""
    with tempfile.TemporaryDirectory() as folder:
        lake = Lake.open(Path(folder))
        land(lake, templates, rate, replications, seed=templates)
        build(lake)
        holds, met = query(lake, HOLDS, [rate]).row(0)
    yield _around(
        f"{templates} templates, true rate {rate}: interval holds it",
        holds,
        COVERAGE[templates, rate],
        replications,
    )
    if rate == TOLERANCE:
        yield _around(
            f"{templates} templates, true rate {rate}: called met", met, FALSE_MET[templates], replications
        )


def _around(of: str, measured: float, wanted: float, replications: int) -> Share:
    # ±.022 is three standard errors of 1,000 replications
    margin = 0.022 * max(1.0, sqrt(1000 / replications))
    return Share(of, measured, wanted - margin, wanted + margin)


DIFFERENCES = """
    with per_template as (
        select replication, template, sum(difference) as difference, count(*) as prompts
        from prompts
        group by replication, template
    ),
    differences as (
        select
            statistics.row_rate(difference, prompts) as mean,
            statistics.row_rate_se(difference, prompts) as se,
            count(*) as templates
        from per_template
        group by replication
    )
    select avg((statistics.paired_p_value(mean, se, templates) < 0.05)::int) from differences
"""


def differences(templates: int, rate: float, replications: int) -> Share:
    """How often a test at 5% distinguishes two communities that a model treats alike: five prompts a template, two
    samples each."""
    random = Random(templates)
    rows = [
        (replication, template, (count_passes(random, own, 2) - count_passes(random, own, 2)) / 2)
        for replication in range(replications)
        for template in range(templates)
        for own in [random.betavariate(rate * 7 / 3, (1 - rate) * 7 / 3)]
        for _ in range(5)
    ]
    prompts = pl.DataFrame(rows, ["replication", "template", "difference"], orient="row")
    with duckdb.connect() as warehouse:
        define(warehouse)
        warehouse.register("prompts", prompts.to_arrow())
        found = warehouse.execute(DIFFERENCES).fetchall()
    low, high = REJECTED
    wider = (max(1.0, sqrt(1000 / replications)) - 1) * (high - low) / 2
    return Share(f"{templates} templates, no difference: found at 5%", found[0][0], low - wider, high + wider)


def count_passes(random: Random, rate: float, rows: int) -> int:
    return sum(random.random() < rate for _ in range(rows))


def measure(replications: int) -> Iterator[tuple[str, bool]]:
    """Each share with whether it is in its band, and each exact rate with whether the marts give it."""
    whole = replications >= 1000
    settings = COVERAGE if whole else {(40, 0.9): COVERAGE[40, 0.9]}
    shares = chain.from_iterable(intervals(templates, rate, replications) for templates, rate in settings)
    tests = (differences(templates, TOLERANCE, replications) for templates in sorted({n for n, _ in settings}))
    concerns = tuple(load_catalog().concerns) if whole else ("sexism",)
    languages, templates = (baselines.LANGUAGES, 1000) if whole else (("es_es",), 6)
    for found in chain(shares, tests, baselines.measure(concerns, languages, templates)):
        yield str(found), found.holds


if __name__ == "__main__":
    harness.run(measure, separator="   ")
