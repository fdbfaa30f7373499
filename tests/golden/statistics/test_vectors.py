"""Published and precomputed values, to six digits: the file that `BIASGRID_VECTORS` names."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

FILE = os.environ.get("BIASGRID_VECTORS")
pytestmark = pytest.mark.skipif(not FILE, reason="BIASGRID_VECTORS names no file")
SIX = {"abs": 1.5e-6, "rel": 1e-6}


@pytest.fixture(scope="module")
def vectors() -> Any:
    return json.loads(Path(FILE or "").read_text(encoding="utf-8"))


def counts(clusters: list[list[float]]) -> list[tuple[float, int]]:
    return [(sum(rows), len(rows)) for rows in clusters]


def times(written: str) -> list[tuple[float, int]]:
    """`28x10,6x9`: 28 templates with 10 of 10 rows that pass, 6 with 9 of 10."""
    parts = (part.split("x") for part in written.split(","))
    return [(int(passed), 10) for number, passed in parts for _ in range(int(number))]


def test_the_clusters(vectors, over, call):
    given = vectors["cluster_A"]
    rows = counts(given["input"])
    for measure, name in {
        "row_rate(a, b)": "p_rows",
        "row_rate_se(a, b)": "se_CR1_G/(G-1)",
        "macro_rate(a, b)": "macro_p",
        "macro_se(a, b)": "macro_se",
        "fixed_library_se(a, b)": "fixed_library_se_macro",
        "intra_template_correlation(a, b)": "icc_anova",
    }.items():
        assert over(measure, rows) == pytest.approx(given[name], **SIX), name
    rates = "statistics.macro_rate(a, b), statistics.macro_se(a, b), count(*), sum(b)"
    assert over(f"effective_n({rates})", rows) == pytest.approx(given["macro_neff"], **SIX)
    assert list(over(f"interval({rates})", rows).values()) == pytest.approx(given["macro_wilson_t"], **SIX)
    assert call("t_quantile(0.975, 5)") == pytest.approx(given["t5_.975"], **SIX)


def test_the_verdicts(vectors, over, call):
    for given in vectors["verdicts_40_templates_x10_tau.9"].values():
        rows = times(given["pass_counts"])
        rates = "statistics.macro_rate(a, b), statistics.macro_se(a, b), count(*), sum(b)"
        interval = over(f"interval({rates})", rows)
        assert over("macro_rate(a, b)", rows) == pytest.approx(given["p"], **SIX)
        assert over("macro_se(a, b)", rows) == pytest.approx(given["se"], **SIX)
        assert over(f"effective_n({rates})", rows) == pytest.approx(given["neff"], **SIX)
        assert list(interval.values()) == pytest.approx(given["ci"], **SIX)
        assert call("decision(?, ?, 0.9)", *interval.values()) == given["verdict"]
        decided = call("decision_of_templates(?, ?, 0.9, 40, 38, 3)", *interval.values())
        assert decided == given["verdict"]


def test_wilsons_intervals(vectors, call):
    for name, wanted in vectors["wilson_newcombe1998"].items():
        passed, rows = map(int, name.split("/"))
        assert list(call("wilson_of_counts(?, ?)", passed, rows).values()) == pytest.approx(wanted, **SIX)
    for name, low in vectors["wilson_perfect_z"].items():
        passed, rows = map(int, name.split("/"))
        assert call("wilson_of_counts(?, ?)", passed, rows)["low"] == pytest.approx(low, **SIX)
    for templates, low in vectors["wilson_perfect_t"].items():
        assert call("interval(1, 0, ?::int, 1000)", templates)["low"] == pytest.approx(low, **SIX)


def test_the_differences(vectors, over, call, adjusted):
    given = vectors["paired_D"]
    rows = counts(given["input"])
    assert over("row_rate(a, b)", rows) == pytest.approx(given["mean"], **SIX)
    assert over("row_rate_se(a, b)", rows) == pytest.approx(given["CR1"], **SIX)
    assert over("row_rate(a, b) / statistics.row_rate_se(a, b)", rows) == pytest.approx(given["t"], **SIX)
    p_value = "paired_p_value(statistics.row_rate(a, b), statistics.row_rate_se(a, b), count(*))"
    assert over(p_value, rows) == pytest.approx(given["p_t5"], **SIX)
    for name, value in vectors["mcnemar"].items():
        b, c = (int(part[1:]) for part in name.split("_"))
        assert call("mcnemar_p_value(?, ?)", b, c) == pytest.approx(value["exact"], rel=1e-5)
    found = adjusted(vectors["bh1995"]["p"])
    assert found == pytest.approx(vectors["bh1995"]["adj"], **SIX)
    assert sum(p <= 0.05 for p in found) == vectors["bh1995"]["rejected_q.05"]


def test_the_agreements(vectors, call):
    for square, wanted in vectors["agreement"].items():
        assert call("cohens_kappa(?)", json.loads(square)) == pytest.approx(wanted["kappa"], **SIX)
        assert call("gwets_ac1(?)", json.loads(square)) == pytest.approx(wanted["AC1"], **SIX)
    first, second = vectors["rogan_gladen"].values()
    for wanted, given in ((first, (0.8, 400, 0.9, 100, 0.85, 100)), (second, (0.88, 1000, 0.95, 150, 0.8, 50))):
        p, _, q1, _, q0, _ = given
        assert call("corrected_rate(?, ?, ?)", p, q1, q0) == pytest.approx(wanted["theta"], **SIX)
        assert call("corrected_rate_se(?, ?, ?, ?, ?, ?)", *given) == pytest.approx(wanted["se"], **SIX)


def test_the_power(vectors, call):
    assert call("rows_for_power(0.9, 0.95)") == pytest.approx(vectors["power"]["n_ind_.95"], **SIX)
    assert call("rows_for_power(0.9, 0.85)") == pytest.approx(vectors["power"]["n_ind_.85"], **SIX)


def test_the_associations_and_assignments(vectors, call):
    assert call("iat_d(8, 0, 0, 8)") == pytest.approx(vectors["D_score"]["perfect_8_8"], **SIX)
    assert call("iat_d(8, 8, 0, 0)") == pytest.approx(vectors["D_score"]["all_one_group"], **SIX)
    for given in vectors["assignments"]:
        pairs = [task + who[0].upper() for task, who in zip(given["tasks"], given["assigned"], strict=True)]
        numbers = [*(pairs.count(pair) for pair in ("MM", "MF", "FM", "FF")), given["M"], given["F"]]
        assert call("assignment_class(?, ?, ?, ?, ?, ?)", *numbers) == given["cls"]
