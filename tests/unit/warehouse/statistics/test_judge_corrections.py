"""Rates corrected for a judge's error: the formula by its definition, and whether its intervals hold the truth."""

from itertools import product
from math import prod

import numpy as np
import polars as pl
import pytest

SHARES = ((0.9, 0.8), (1.0, 0.85), (0.81, 1.0), (0.97, 0.6))
"""Sensitivity and specificity of judges."""
RUNS, INSTANCES, READINGS = 1000, 2, 52
CORRECTED = "corrected_test(?, ?, ?::double, ?::double)"


@pytest.mark.parametrize(
    "truths", [(True,), (False,), (True, True), (True, False), (False, False, False)], ids=str
)
@pytest.mark.parametrize(("sensitivity", "specificity"), SHARES)
def test_a_corrected_test_is_right_on_average(call, truths, sensitivity, specificity):
    chances = [sensitivity if truth else 1 - specificity for truth in truths]
    mean = 0.0
    for verdicts in product([True, False], repeat=len(truths)):
        chance = prod(p if passed else 1 - p for p, passed in zip(chances, verdicts, strict=True))
        test = call(CORRECTED, sum(verdicts), len(verdicts) - sum(verdicts), sensitivity, specificity)
        mean += chance * test["value"]
    assert mean == pytest.approx(float(all(truths)), abs=1e-9)


@pytest.mark.parametrize(("passed", "failed"), [*product(range(3), range(3))])
def test_its_slopes_are_its_derivatives(call, passed, failed):
    step, (sensitivity, specificity) = 1e-6, SHARES[0]
    test = call(CORRECTED, passed, failed, sensitivity, specificity)
    for name, more in (("by_sensitivity", (step, 0)), ("by_specificity", (0, step))):
        up = call(CORRECTED, passed, failed, sensitivity + more[0], specificity + more[1])["value"]
        down = call(CORRECTED, passed, failed, sensitivity - more[0], specificity - more[1])["value"]
        assert test[name] == pytest.approx((up - down) / (2 * step), rel=1e-4, abs=1e-4)


SIMULATED = """
    with units as (
        select
            *,
            statistics.corrected_test(passed, failed, sensitivity, specificity) as test
        from simulated
    ),

    rates as (
        select
            run,
            any_value(sensitivity) as sensitivity,
            any_value(specificity) as specificity,
            count(*) as templates,
            statistics.macro_rate(test.value, 1) as rate,
            statistics.macro_se(test.value, 1) as se,
            statistics.macro_rate(test.by_sensitivity, 1) as by_sensitivity,
            statistics.macro_rate(test.by_specificity, 1) as by_specificity
        from units
        group by run
    )

    select
        statistics.corrected_interval(
            rate,
            se,
            statistics.calibration_se(
                by_sensitivity, by_specificity, sensitivity, $readings, specificity, $readings
            ),
            templates,
            templates
        ) as interval
    from rates
"""


def simulate(
    templates: int, mean: float, judge: tuple[float, float], oracle_errs: float
) -> tuple[pl.DataFrame, float]:
    """Tests of two replies whose template rates are drawn, and their true share: an oracle fails what breaks the
    rule and some of what follows it, and a judge that has read controls decides what it failed."""
    random, correlation = np.random.default_rng(templates), 0.2
    a, b = (share * (1 - correlation) / correlation for share in (mean, 1 - mean))
    size = (RUNS, templates, INSTANCES)
    truth = random.random(size) < random.beta(a, b, (RUNS, templates, 1))
    doubted = ~truth | (random.random(size) < oracle_errs)
    passes = np.where(truth, random.random(size) < judge[0], random.random(size) > judge[1])
    measured = [random.binomial(READINGS, share, RUNS) / READINGS for share in judge]
    frame = pl.DataFrame(
        {
            "run": np.repeat(np.arange(RUNS), templates),
            "passed": (doubted & passes).sum(2).ravel(),
            "failed": (doubted & ~passes).sum(2).ravel(),
            "sensitivity": np.repeat(measured[0], templates),
            "specificity": np.repeat(measured[1], templates),
        }
    )
    return frame, a / (a + b) * (a + 1) / (a + b + 1)


@pytest.mark.parametrize(
    ("templates", "mean", "judge", "oracle_errs"),
    [
        (88, 0.9, (0.95, 0.9), 0.05),
        (88, 0.85, (0.93, 0.93), 0.1),
        (176, 0.9, (0.95, 0.9), 0.05),
        (40, 0.7, (0.95, 0.95), 0.05),
    ],
)
def test_corrected_intervals_hold_the_truth(macros, templates, mean, judge, oracle_errs):
    frame, truth = simulate(templates, mean, judge, oracle_errs)
    with macros.cursor() as session:  # other tests leave results of the shared connection unread
        session.register("simulated", frame.to_arrow())
        intervals = [row for (row,) in session.execute(SIMULATED, {"readings": READINGS}).fetchall()]
    assert len(intervals) == RUNS
    held = sum(interval["low"] <= truth <= interval["high"] for interval in intervals) / RUNS
    assert 0.93 <= held <= 0.97
    above = sum(interval["low"] > truth for interval in intervals) / RUNS
    assert above <= 0.035


def test_without_correction_the_judges_error_would_be_found_as_a_rate():
    frame, truth = simulate(176, 0.85, (0.95, 0.9), 0.0)
    raw = frame.group_by("run").agg(rate=(pl.col("failed") == 0).mean())["rate"].mean()
    assert isinstance(raw, float)
    assert raw - truth > 0.02


@pytest.mark.parametrize(("rate", "se"), [(1.0, 0.0), (1.04, 0.02), (0.0, 0.0), (-0.1, 0.05), (0.5, 0.1)])
def test_a_corrected_interval_holds_its_rate_and_ends_at_0_and_1(call, rate, se):
    interval = call("corrected_interval(?, ?, 0.01, 40, 80)", rate, se)
    assert 0 <= interval["low"] <= min(1, max(0, rate)) <= interval["high"] <= 1
    assert interval["high"] - interval["low"] > 0.05


@pytest.mark.parametrize(
    ("sensitivity", "specificity", "informs"), [(0.5, 0.5 + 3e-10, False), (0.5, 0.51, True), (0.9, 0.05, False)]
)
def test_a_judge_informs_where_it_is_right_more_often_than_chance(call, sensitivity, specificity, informs):
    assert call("judge_informs(?::double, ?::double)", sensitivity, specificity) is informs


CONTROLS = {
    "passed": (["passed", "passed"], ["passed", "failed"], ["passed"], ["refused", "refused"]),
    "failed": (["failed", "failed"], ["passed", "passed"], ["failed", "unreadable"], ["passed", "failed"]),
}
"""Verdicts of a judge on controls of either truth, one list a control."""


def test_a_judges_figures_are_shares_of_the_controls_that_it_decides(macros, naive):
    rows = [
        {"run_id": "R", "evaluation_id": "E", "judge": "j", "language": "en_us", "control": f"{truth} {number}",
         "truth": truth, "state": "given" if verdict in CONTROLS else verdict, "outcome": verdict}
        for truth, controls in CONTROLS.items() for number, verdicts in enumerate(controls) for verdict in verdicts
    ]  # fmt: skip
    rows.append(rows[0] | {"control": "failed 4", "truth": "failed", "state": "failed", "outcome": None})
    with macros.cursor() as session:
        session.register("readings_of_j", pl.DataFrame(rows).to_arrow())
        figures = session.sql("from statistics.judge_figures('readings_of_j')").pl().row(0, named=True)
    counts = ("controls", "controls_decided", "readings", "refused", "unreadable", "failed", "read_twice")
    assert [figures[name] for name in counts] == [9, 7, 16, 2, 1, 1, 7]
    assert figures["sensitivity"] == pytest.approx((1 + 1 / 2 + 1) / 3)
    assert figures["specificity"] == pytest.approx((1 + 0 + 1 + 1 / 2) / 4)
    assert figures["flicker"] == pytest.approx(3 / 7)
    for share, decided in (
        ("sensitivity", [(2, 2), (1, 2), (1, 1)]),
        ("specificity", [(2, 2), (0, 2), (1, 1), (1, 2)]),
    ):
        rate, se = figures[share], naive.macro_se(decided)
        effective = min(sum(n for _, n in decided), rate * (1 - rate) / se**2)
        assert figures[f"{share}_rows"] == pytest.approx(effective)
