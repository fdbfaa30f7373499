"""Intervals and decisions of the marts, computed again reply by reply from their definitions."""

import math
from collections import defaultdict
from random import Random
from statistics import fmean, stdev, variance
from typing import Any

import pytest

from biasgrid.warehouse.build.build import build, query
from biasgrid.warehouse.storage.lake import Lake
from support.studentised_range import quantile

T_975 = {1: 12.7062047, 2: 4.3026527, 3: 3.1824463, 4: 2.7764451, 5: 2.5705818, 6: 2.4469119, 7: 2.3646243}
T_975 |= {8: 2.3060041, 9: 2.2621572, 10: 2.2281389, 11: 2.2009852, 12: 2.1788128, 13: 2.1603687, 14: 2.1447867}
T_975 |= {15: 2.1314495, 16: 2.1199053, 17: 2.1098156, 18: 2.1009220, 19: 2.0930241, 39: 2.0226909, 79: 1.9904502}
TOLERANCE, DELTA, WIDTH = 0.55, 0.02, 100


def same_value_outcome(replies: list[Any]) -> str | None:
    """Of one template over all its samples."""
    by_community, by_sample = defaultdict(list), defaultdict(list)
    for reply in replies:
        by_community[reply.communities].append(reply)
        by_sample[reply.sample].append(reply)
    if len(by_sample) == 1:
        values = [reply.value for reply in replies if reply.outcome is None]
        if values and max(values) - min(values) > DELTA * WIDTH:
            return "failed"
        return next(
            (o for o in ("error", "unreadable", "refused") if any(r.outcome == o for r in replies)), "passed"
        )
    numbers = {who: [float(r.value) for r in group if r.outcome is None] for who, group in by_community.items()}
    sampled = [values for values in numbers.values() if values]
    if sampled and spreads_beyond(sampled):
        return "failed"
    if len(sampled) == len(numbers):
        return "passed"
    silent = [reply for who, group in by_community.items() if not numbers[who] for reply in group]
    return next(o for o in ("error", "unreadable", "refused") if any(reply.outcome == o for reply in silent))


def spreads_beyond(sampled: list[list[float]]) -> bool:
    """Whether means lie further apart than delta admits and chance explains."""
    means, degrees = [fmean(values) for values in sampled], sum(len(values) - 1 for values in sampled)
    spread = round(max(means) - min(means), 6)
    if not degrees or len(sampled) < 2:
        return spread > DELTA * WIDTH
    within = sum((len(values) - 1) * variance(values) for values in sampled if len(values) > 1) / degrees
    error = math.sqrt(within * fmean(1 / len(values) for values in sampled))
    return spread > DELTA * WIDTH and spread > error * quantile(len(sampled), degrees)


def outcomes_of_tests(replies: list[Any]) -> list[str]:
    """Of one template, sample by sample: its worst reply's."""
    samples = defaultdict(list)
    for reply in replies:
        samples[reply.sample].append(reply.outcome)
    worst_first = ("failed", "error", "unreadable", "refused", "passed")
    return [min(outcomes, key=worst_first.index) for outcomes in samples.values()]


def counts(replies: list[Any], rule: str, measure: str = "tests") -> list[tuple[int, int]]:
    """Per template: what passes, of what counts."""
    templates = defaultdict(list)
    for reply in replies:
        templates[reply.template].append(reply)
    found = []
    for group in templates.values():
        if group[0].same_value:
            outcomes = [same_value_outcome(group)]
        else:
            outcomes = outcomes_of_tests(group) if measure == "tests" else [reply.outcome for reply in group]
        passes = {"passed", "refused"} if rule == "pass" else {"passed"}
        fails = {"failed", "refused", "unreadable"} if rule == "fail" else {"failed"}
        passed = sum(outcome in passes for outcome in outcomes)
        found.append((passed, passed + sum(outcome in fails for outcome in outcomes)))
    return [(passed, counted) for passed, counted in found if counted]


def decide(clusters: list[tuple[int, int]]) -> tuple[float, float | None, float | None, str]:
    """Rate, interval and decision of some templates."""
    g, n = len(clusters), sum(counted for _, counted in clusters)
    rates = [passed / counted for passed, counted in clusters]
    p = fmean(rates)
    if g == 1:
        return p, None, None, "undecided"
    se, q = stdev(rates) / math.sqrt(g), T_975[g - 1]
    effective = g if se < 1e-12 else min(n, p * (1 - p) / se**2)
    middle = p + q * q / (2 * effective)
    half = q * math.sqrt(p * (1 - p) / effective + q * q / (4 * effective**2))
    low, high = ((middle + side * half) / (1 + q * q / effective) for side in (-1, 1))
    perfect = g / (g + q * q)
    if low >= TOLERANCE and perfect >= TOLERANCE:
        return p, low, high, "met"
    return p, low, high, "not met" if high < TOLERANCE and 1 - perfect < TOLERANCE else "undecided"


def some_replies(
    random: Random, prefix: str, expected: Any, numbers: Any, templates: int, rate: float
) -> list[Any]:
    """Expected-value templates of several sizes and samples, same-value ones asked once or three times."""
    replies = []
    for i in range(templates):
        for sample in range(1, random.choice((1, 1, 3)) + 1):
            drawn = [
                random.choices(("passed", "failed"), (rate, 1 - rate))[0] for _ in range(random.randint(1, 5))
            ]
            mixed = [
                o if random.random() < 0.9 else random.choice(("refused", "unreadable", "error")) for o in drawn
            ]
            replies += expected(f"{prefix}-expected-{i}", *mixed, sample=sample)
    for i in range(templates // 4):
        apart, noise, size = random.choice((0, 1, 30)), random.choice((0, 0.5, 9)), random.randint(2, 4)
        for sample in range(1, random.choice((1, 3)) + 1):
            drawn = [round(50 + apart * c + random.gauss(0, noise), 2) for c in range(size)]
            mixed = [a if random.random() < 0.85 else random.choice(("refused", "unreadable")) for a in drawn]
            replies += numbers(f"{prefix}-number-{i}", *mixed, sample=sample)
    return replies


def about(value: float | None) -> Any:
    return None if value is None else pytest.approx(value, abs=1e-6)


FIGURES = "rate, interval_low, interval_high, decision"
CELLS = f"select {FIGURES} from marts.pass_rates where run_id = ? order by cell_id"
LANGUAGES = f"select {FIGURES} from marts.language_findings"
RULES = [(rule, measure) for rule in ("separate", "fail", "pass") for measure in ("tests", "replies")]


@pytest.fixture(scope="module")
def runs_by_rule(
    tmp_path_factory: pytest.TempPathFactory, hand_made_in: Any, cell: Any, reply_makers: Any, criterion: Any
) -> tuple[Lake, dict[tuple[str, str], list[Any]]]:
    """One run for each rule and measure, with its cells."""
    lake, runs = Lake.open(tmp_path_factory.mktemp("rules")), {}
    sizes, rates = (1, 4, 7, 12, 16, 16), (0.99, 1.0, 0.05, 0.7, 1.0, 0.2)
    for rule, measure in RULES:
        random = Random(f"{rule} {measure} 3")
        cells = [
            cell(some_replies(random, f"{i}", *reply_makers, size, rate), model=f"simulated/{i}")
            for i, (size, rate) in enumerate(zip(sizes, rates, strict=True))
        ]
        criteria = [criterion(refusals=rule, measure=measure, tolerance=TOLERANCE, max_refusals=1.0)]
        hand_made_in(lake).land(f"{rule}-{measure}", cells, criteria)
        runs[rule, measure] = cells
    build(lake)
    return lake, runs


@pytest.mark.parametrize(("rule", "measure"), RULES)
def test_cells_and_languages_are_decided_as_by_hand(runs_by_rule, rule, measure):
    lake, runs = runs_by_rule
    run = [f"{rule}-{measure}"]
    found = query(lake, CELLS, run).rows()
    cells = sorted(runs[rule, measure], key=lambda made: made.id)
    wanted = [decide(counts(list(made.replies), rule, measure)) for made in cells]
    assert found == [(about(p), about(low), about(high), decision) for p, low, high, decision in wanted]
    # with one cell each, a model's language is its cell
    assert query(lake, f"{LANGUAGES} where run_id = ? order by model", run).rows() == found
    assert {row[3] for row in found} == {"met", "not met", "undecided"}


def test_a_language_pools_its_inputs_and_reflections_and_a_requirement_its_languages(
    lake, hand_made, cell, expected, numbers, criterion
):
    random = Random(5)
    grid = [("en_us", "constrained", 0.97), ("en_us", "verbose", 0.99), ("es_es", "verbose", 0.1)]
    cells = [
        cell(some_replies(random, f"{i}", expected, numbers, 8, rate), language=language, input=kind)
        for i, (language, kind, rate) in enumerate(grid)
    ]
    hand_made.land("R1", cells, [criterion(tolerance=TOLERANCE, max_refusals=1.0, coverage=0.5)])
    build(lake)
    english = decide(counts([*cells[0].replies, *cells[1].replies], "separate"))
    spanish = decide(counts(list(cells[2].replies), "separate"))
    assert query(lake, f"{LANGUAGES} order by language").rows() == [
        (*map(about, one[:3]), one[3]) for one in (english, spanish)
    ]
    assert spanish[3] == "not met"
    row = query(lake, "select decision, worst_language, rate from marts.requirement_findings").row(0)
    assert row == ("not met", "es_es", about(spanish[0]))


def test_power_is_the_number_of_templates_that_would_decide(lake, hand_made, cell, expected, criterion):
    replies = [reply for i in range(10) for reply in expected(f"t{i}", "passed" if i else "failed")]
    hand_made.land("R1", [cell(replies)], [criterion(tolerance=0.9)])
    build(lake)
    row = query(lake, "from marts.power").row(0, named=True)
    shown = (
        row["templates"],
        row["better_rate"],
        row["worse_rate"],
        row["templates_if_perfect"],
        row["has_power"],
    )
    assert shown == (10, about(0.95), about(0.85), 38, False)
    # one instance a template: as many templates as independent rows
    assert (row["templates_if_better"], row["templates_if_worse"]) == (239, 316)


def test_a_rebuilt_warehouse_has_the_same_marts(lake, hand_made, cell, expected, numbers):
    random = Random(9)
    hand_made.land("R1", [cell(some_replies(random, "a", expected, numbers, 60, 0.8))])
    marts = ("pass_rates", "language_findings", "requirement_findings", "deltas", "power")
    build(lake)
    before = [query(lake, f"from marts.{mart} order by all") for mart in marts]
    lake.database.unlink()
    build(lake)
    assert all(
        query(lake, f"from marts.{mart} order by all").equals(one) for mart, one in zip(marts, before, strict=True)
    )
