"""How far oracles, judges and people agree, from a lake in which they have assessed the same replies."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest

from biasgrid.warehouse.build.build import build, query
from biasgrid.warehouse.storage.errors import LakeDamaged
from biasgrid.warehouse.storage.lake import Lake

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
MODELS, REPLIES = 40, 400
SENSITIVITY, SPECIFICITY = 0.9, 0.75
"""Of the oracle, by what people say."""


def assessment(run_id: str, cell: Any, reply: Any, verdict: str | None, **given: Any) -> dict[str, Any]:
    """An assessment of a reply of the hand-made lake."""
    case_id = cell.case_id(reply)
    row = {
        "run_id": run_id,
        "evaluation_id": "E1",
        "cell_id": cell.id,
        "template_id": reply.template,
        "sample": reply.sample,
        "case_id": case_id,
        "response_id": f"{run_id}/{case_id}",
        "rule_key": "rule",
        "purpose": "blind",
        "assessor_kind": "person",
        "assessor": "ana",
        "state": "given" if verdict else "skipped",
        "outcome": verdict,
        "stratum": reply.outcome,
        "probability": 1.0,
        "seed": 7,
        "assessed_at": NOON,
    } | given
    names = ("evaluation_id", "case_id", "assessor", "purpose", "assessed_at")
    return {"assessment_id": "/".join(str(row[name]) for name in names)} | row


def land(lake: Lake, *rows: dict[str, Any]) -> None:
    lake.write("assessments", "R1", "review-1", pl.DataFrame(rows, infer_schema_length=None))


@pytest.fixture(scope="module")
def simulated(
    tmp_path_factory: pytest.TempPathFactory, hand_made_in: Any, cell: Any, expected: Any
) -> pl.DataFrame:
    """Forty models whose oracle errs at known rates; of each a person judges one pass in four, one fail in two."""
    lake, random = Lake.open(tmp_path_factory.mktemp("simulated")), Random(11)
    cells, rows = [], []
    for number in range(MODELS):
        truths = [random.random() < 0.4 + 0.5 * number / MODELS for _ in range(REPLIES)]
        passes = [random.random() < (SENSITIVITY if true else 1 - SPECIFICITY) for true in truths]
        outcomes = ["passed" if passed else "failed" for passed in passes]
        replies = [expected(f"t{n}", outcome)[0] for n, outcome in enumerate(outcomes)]
        one = cell(replies, model=f"simulated/{number:02}")
        cells.append(one)
        for reply, true in zip(replies, truths, strict=True):
            chance = 0.25 if reply.outcome == "passed" else 0.5
            if random.random() < chance:
                rows.append(assessment("R1", one, reply, "passed" if true else "failed", probability=chance))
        rows[-1]["true_rate"] = sum(truths) / REPLIES
    truth = {one.model: row for one, row in zip(cells, [r for r in rows if "true_rate" in r], strict=True)}
    rates = pl.DataFrame(
        [(model, row.pop("true_rate")) for model, row in truth.items()], ["model", "truth"], orient="row"
    )
    hand_made_in(lake).land("R1", cells)
    land(lake, *rows)
    build(lake)
    found = query(lake, "from marts.judge_agreement where assessor_kind = 'oracle' and scope in ('model', 'all')")
    return found.join(rates, on="model", how="left")


def test_the_corrected_rate_recovers_the_truth_behind_an_oracle_that_errs(simulated):
    models = simulated.filter(pl.col("scope") == "model")
    assert models.height == MODELS
    raw, corrected, truth = (models[name].mean() for name in ("raw_pass_rate", "corrected_rate", "truth"))
    assert abs(raw - truth) > 0.01
    assert corrected == pytest.approx(truth, abs=0.012)
    errors = models.select(
        raw=(pl.col("raw_pass_rate") - pl.col("truth")).abs().mean(),
        corrected=(pl.col("corrected_rate") - pl.col("truth")).abs().mean(),
    ).row(0)
    assert errors[1] < errors[0]


def test_the_intervals_hold_what_is_known(simulated):
    models = simulated.filter(pl.col("scope") == "model")
    for name, known in (
        ("sensitivity", pl.lit(SENSITIVITY)),
        ("specificity", pl.lit(SPECIFICITY)),
        ("corrected_rate", pl.col("truth")),
    ):
        held = models.filter(known.is_between(pl.col(f"{name}_low"), pl.col(f"{name}_high"))).height
        assert held >= 0.85 * MODELS, name


def test_over_all_models_the_oracles_errors_are_those_that_were_made(simulated):
    (row,) = simulated.filter(pl.col("scope") == "all").to_dicts()
    assert row["sensitivity"] == pytest.approx(SENSITIVITY, abs=0.02)
    assert row["specificity"] == pytest.approx(SPECIFICITY, abs=0.03)
    assert row["weighted_n"] == pytest.approx(MODELS * REPLIES, rel=0.03)
    assert row["reference"] == "ana"


@pytest.fixture
def reviewed(lake: Lake, hand_made: Any, cell: Any, expected: Any) -> Callable[..., pl.DataFrame]:
    """A cell of four replies, two that the oracle passes and two that it fails, and their assessments: rows of
    (reply, outcome, more)."""
    replies = expected("t", "passed", "passed", "failed", "failed")
    one = cell(replies)
    hand_made.land("R1", [one])

    def build_lake(*verdict: tuple[int, str | None, dict[str, Any]]) -> pl.DataFrame:
        land(lake, *(assessment("R1", one, replies[n], outcome, **more) for n, outcome, more in verdict))
        build(lake)
        return query(lake, "from marts.judge_agreement where scope = 'all' order by reference, assessor")

    return build_lake


def test_every_pair_of_assessors_has_a_row(reviewed):
    judge = {"assessor_kind": "model", "assessor": "own/judge", "seed": 0}
    rows = reviewed(
        *((n, "passed", {}) for n in range(3)),
        *((n, "failed", {"assessor": "bo"}) for n in range(2)),
        *((n, "passed", judge) for n in range(4)),
    )
    pairs = rows.select("reference_kind", "reference", "assessor_kind", "assessor", "n").rows()
    assert pairs == [
        ("person", "ana", "person", "bo", 2),
        ("person", "ana", "oracle", "oracle", 3),
        ("person", "ana", "model", "own/judge", 3),
        ("person", "bo", "oracle", "oracle", 2),
        ("person", "bo", "model", "own/judge", 2),
        ("oracle", "oracle", "model", "own/judge", 4),
    ]


def test_a_later_word_of_the_same_person_counts_and_decisions_are_not_blind(reviewed):
    later = {"assessed_at": NOON.replace(hour=13)}
    rows = reviewed(
        (0, "failed", {}), (0, "passed", later), (1, "failed", {"purpose": "decision", "assessor": "bo"})
    )
    assert rows.select("reference", "assessor", "true_passed", "n").rows() == [("ana", "oracle", 1, 1)]


def test_assessments_of_an_evaluation_that_no_longer_counts_are_left_out(reviewed):
    assert reviewed((0, "failed", {"evaluation_id": "E0"})).is_empty()


@pytest.mark.parametrize(
    ("broken", "verdict"),
    [
        ({"case_id": "nowhere"}, "the case that was assessed is not there"),
        ({"response_id": "nowhere"}, "the response that was assessed is not there"),
        ({"outcome": "perhaps"}, "the outcome is none of"),
    ],
)
def test_an_assessment_of_nothing_is_named(reviewed, broken, verdict):
    with pytest.raises(LakeDamaged, match=verdict):
        reviewed((0, "failed", broken))


def test_a_lake_without_assessments_has_empty_marts(lake, hand_made, cell, expected):
    hand_made.land("R1", [cell(expected("t", "passed"))])
    build(lake)
    assert query(lake, "from marts.judge_agreement").is_empty()
    counts = query(lake, "select decided_by_people, overridden_by_people from marts.requirement_findings")
    assert counts.rows() == [(0, 0)]
    assert not Path(lake.root / "lake" / "assessments").exists()
