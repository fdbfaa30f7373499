"""What people decide takes a verdict's place and reaches its template; the same reply and rule keep it."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from biasgrid.catalogs.schema.oracle import Oracle
from biasgrid.tasks.evaluate.cell import Evaluation, decide_again, evaluate_cells
from biasgrid.tasks.evaluate.current_oracles import RULES
from biasgrid.tasks.evaluate.judge import current
from biasgrid.warehouse.storage.assessments import rule_key, to_assessment_form
from biasgrid.warehouse.storage.lake import Lake

Rows = Callable[..., pl.DataFrame]
NO = Oracle(operation="allEqualExpected", expected=("No",))
NEVER = Oracle(operation="allEqualExpected", expected=("No", "Never"))
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def lake(tmp_path: Path, cases: Rows, responses: Rows) -> Lake:
    """A template of three replies: the oracle passes two of them and fails one."""
    lake = Lake(tmp_path)
    words = {"template": "t", "wording": 1, "template_text": "?"}
    lake.write(
        "cases",
        "run",
        "cell",
        cases(*({"case_id": f"case-{n}", "instance_id": f"i{n}", **words} for n in range(3))),
    )
    texts = ("No", "No way", "By all means")
    came = [{"case_id": f"case-{n}", "cell_id": "cell", "text": text} for n, text in enumerate(texts)]
    lake.write("responses", "run", "cell-1", responses(*came))
    return lake


def land(lake: Lake, case: int, outcome: str, **given: Any) -> None:
    """A person's decision on a reply."""
    row = {
        "run_id": "run",
        "assessment_id": f"A-{case}-{outcome}-{given.get('assessor', 'ana')}",
        "evaluation_id": "E1",
        "cell_id": "cell",
        "template_id": "template",
        "sample": 1,
        "case_id": f"case-{case}",
        "response_id": f"response-{case}",
        "rule_key": rule_key(NO.model_dump_json()),
        "purpose": "decision",
        "assessor_kind": "person",
        "assessor": "ana",
        "state": "given",
        "outcome": outcome,
        "reason": "I read it so",
        "assessed_at": NOON,
    } | given
    frame = to_assessment_form(pl.DataFrame([row]))
    lake.write("assessments", "run", f"review-{row['assessment_id']}", frame)


def standing_rows(lake: Lake, evaluation: str = "E1") -> dict[str, str]:
    rows = current(lake.read("verdicts", "run", f"{evaluation}-*"))
    return dict(zip(rows["case_id"].fill_null("template"), rows["outcome"], strict=True))


async def test_a_decision_supersedes_the_verdict_and_its_template(lake, catalog):
    await evaluate_cells(lake, "run", ["cell"], Evaluation("E1", catalog))
    before = lake.read("verdicts", "run")
    assert standing_rows(lake) == {
        "case-0": "passed",
        "case-1": "passed",
        "case-2": "failed",
        "template": "failed",
    }
    land(lake, 2, "passed")
    decide_again(lake, "run", "cell", "E1")
    assert set(standing_rows(lake).values()) == {"passed"}
    (decided,) = (
        lake.read("verdicts", "run")
        .filter((pl.col("assessor_kind") == "person") & (pl.col("level") == "instance"))
        .to_dicts()
    )
    (replaced,) = before.filter(pl.col("case_id") == "case-2")["verdict_id"]
    assert (decided["supersedes"], decided["reviewer"], decided["reason"]) == (replaced, "ana", "I read it so")
    assert set(before["verdict_id"]) < set(lake.read("verdicts", "run")["verdict_id"])


async def test_deciding_again_lands_the_same_rows(lake, catalog):
    await evaluate_cells(lake, "run", ["cell"], Evaluation("E1", catalog))
    land(lake, 2, "passed")
    decide_again(lake, "run", "cell", "E1")
    once = lake.read("verdicts", "run")
    decide_again(lake, "run", "cell", "E1")
    assert lake.read("verdicts", "run").equals(once)
    await evaluate_cells(lake, "run", ["cell"], Evaluation("E1", catalog))  # as a resumed run does
    assert lake.read("verdicts", "run").drop("judged_at").equals(once.drop("judged_at"))


async def test_the_newest_decision_counts(lake, catalog):
    await evaluate_cells(lake, "run", ["cell"], Evaluation("E1", catalog))
    land(lake, 2, "passed", assessed_at=NOON + timedelta(hours=1))
    land(lake, 2, "refused", assessor="bo")
    decide_again(lake, "run", "cell", "E1")
    assert standing_rows(lake)["case-2"] == "passed"


async def test_a_decision_goes_over_into_a_later_evaluation_and_is_marked(lake, catalog):
    await evaluate_cells(lake, "run", ["cell"], Evaluation("E1", catalog))
    land(lake, 2, "passed")
    land(lake, 0, "failed", purpose="blind", assessor="bo")
    await evaluate_cells(lake, "run", ["cell"], Evaluation("E2", catalog))
    assert standing_rows(lake, "E2")["case-2"] == "passed"
    assert standing_rows(lake, "E2")["case-0"] == "passed"
    carried = lake.read("assessments", "run", "E2-*").sort("carried_from")
    assert carried["carried_from"].to_list() == ["A-0-failed-bo", "A-2-passed-ana"]
    assert set(carried["evaluation_id"]) == {"E2"}
    reasons = current(lake.read("verdicts", "run", "E2-*")).filter(pl.col("case_id") == "case-2")["reason"]
    assert reasons.to_list() == ["I read it so (decided in an earlier evaluation)"]


async def test_a_decision_by_another_rule_stays_where_it_was_made(lake, catalog):
    await evaluate_cells(lake, "run", ["cell"], Evaluation("E1", catalog))
    land(lake, 1, "failed")
    decide_again(lake, "run", "cell", "E1")
    rule = ("t", "en_us", 1, "?", NEVER.model_dump_json(exclude_defaults=True))
    changed = pl.DataFrame([rule], schema=RULES, orient="row")
    await evaluate_cells(lake, "run", ["cell"], Evaluation("E2", catalog, rules=changed))
    assert standing_rows(lake)["case-1"] == "failed"
    assert standing_rows(lake, "E2")["case-1"] == "passed"
    assert lake.files("assessments", "run", "E2-*") == []
    assert lake.read("rules", "run")["rule"].to_list() == [rule[-1]]


async def test_a_reviewer_may_bear_the_name_of_an_operation(lake, catalog):
    await evaluate_cells(lake, "run", ["cell"], Evaluation("E1", catalog))
    land(lake, 2, "passed", assessor="allEqualExpected")
    decide_again(lake, "run", "cell", "E1")
    assert lake.read("verdicts", "run")["verdict_id"].is_unique().all()
    assert standing_rows(lake)["case-2"] == "passed"


def test_a_rule_is_the_same_however_its_json_is_written():
    assert rule_key(NO.model_dump_json()) == rule_key(NO.model_dump_json(exclude_defaults=True))
    assert rule_key(NO.model_dump_json()) != rule_key(NEVER.model_dump_json())
