"""Agreement of a red team's judge with people, as its page shows it."""

import re
import shutil
from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest

from biasgrid.tasks.report.figures import format_score
from biasgrid.tasks.report.html.redteam_pages import write_red_team_page
from biasgrid.warehouse.build.build import build, query
from biasgrid.warehouse.storage.lake import Lake

OUTCOMES = {"ana <b>": ("failed", "failed", None), "bo": ("failed", "passed", "failed")}
"""What two people say of three replies."""
REPLIES = (("s1", "crescendo", 1), ("s1", "crescendo", 2), ("s5", "implicit_separated", 2))


def _assessment(
    run_id: str, who: str, session: str, strategy: str, turn: int, outcome: str | None
) -> dict[str, Any]:
    ids = {"run_id": run_id, "cell_id": strategy, "case_id": session, "template_id": "t", "sample": turn}
    by = {"purpose": "blind", "assessor_kind": "person", "assessor": who, "rule_key": "k", "evaluation_id": run_id}
    how = {"state": "given" if outcome else "skipped", "outcome": outcome, "probability": 0.5, "seed": 7}
    about = {"response_id": f"{session}-{turn}", "assessed_at": datetime(2026, 3, 2, tzinfo=UTC)}
    return {"assessment_id": f"{who}-{session}-{turn}"} | ids | by | how | about


@pytest.fixture(scope="module")
def reviewed(attacked: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Lake, str]:
    root = tmp_path_factory.mktemp("reviewed") / "data"
    shutil.copytree(attacked.data, root)
    lake = Lake(root)
    rows = [
        _assessment(attacked.run_id, who, *reply, outcome)
        for who, outcomes in OUTCOMES.items()
        for reply, outcome in zip(REPLIES, outcomes, strict=True)
    ]
    lake.write("assessments", attacked.run_id, "review", pl.DataFrame(rows, infer_schema_length=None))
    build(lake)
    return lake, attacked.run_id


def _table(page: str, number: int) -> list[list[str]]:
    """The cells of one of the tables of agreement."""
    own = re.findall(r'<table class="wide agreement">.*?</table>', page, re.DOTALL)[number]
    cells = (re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL) for row in own.split("<tr>")[2:])
    return [[" ".join(re.sub("<[^>]*>", "", cell).split()) for cell in row] for row in cells]


def test_numbers_are_those_of_the_mart(reviewed, tmp_path):
    (path,) = write_red_team_page(*reviewed, tmp_path)
    page = path.read_text(encoding="utf-8")
    order = "order by scope <> 'all', reviewer, strategy"
    rows = query(reviewed[0], f"from marts.attack_judge_agreement {order}").to_dicts()
    whom = {"all": "what most reviewers say", "ana <b>": "ana &lt;b&gt;", "bo": "bo"}
    by_reviewer = [
        [f"own/judge measured by {whom[row['reviewer']]}", *_numbers(row)]
        for row in rows
        if row["strategy"] == "all"
    ]
    by_strategy = [[row["strategy"], *_numbers(row)] for row in rows if row["scope"] == "strategy"]
    assert len(by_reviewer) == 3
    assert [[row[0], _count(row[1]), *row[2:]] for row in _table(page, 0)] == by_reviewer
    assert [[row[0].replace(" ", "_"), _count(row[1]), *row[2:]] for row in _table(page, 1)] == by_strategy
    assert "2 of 3: 1 skipped" in _table(page, 0)[1]


def _count(cell: str) -> str:
    return cell.split()[0]


def _numbers(row: dict[str, Any]) -> list[str]:
    shares = [
        _interval(row, name, "{:.1%}".format) for name in ("observed_agreement", "sensitivity", "specificity")
    ]
    beyond = [
        _interval(row, name, lambda one: format_score(one).lstrip("+")) for name in ("cohens_kappa", "gwets_ac1")
    ]
    return [str(row["n"]), *shares, *beyond]


def _interval(row: dict[str, Any], name: str, show: Any) -> str:
    middle, low, high = (row[f"{name}{end}"] for end in ("", "_low", "_high"))
    if middle is None:
        return "–"
    return show(middle) if low is None else f"{show(middle)} ({show(low)} to {show(high)})"


def test_a_red_team_that_no_one_reviewed_shows_it_and_how_to_get_a_review(attacked, tmp_path):
    (path,) = write_red_team_page(Lake(attacked.data), attacked.run_id, tmp_path)
    assert f"<code>biasgrid review {attacked.run_id}</code>" in path.read_text(encoding="utf-8")
