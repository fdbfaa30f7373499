"""From any id to all that hangs on it: the right prompts, of the right run, with every verdict on them."""

from __future__ import annotations

import json
from typing import Any

import duckdb
import polars as pl
import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.tasks.aggregate.trace.benchmark import trace
from biasgrid.warehouse.build.build import build
from biasgrid.warehouse.queries.lineage import as_script
from biasgrid.warehouse.storage.lake import Lake

ODD = "simulated/odd/sexism-1/women"
"""The id of a case, its instance, its request and its verdict."""


def prompts(found: Any) -> set[str]:
    return {case["case_id"] for case in found.cases}


@pytest.mark.parametrize(
    ("asked", "kind", "leads_to"),
    [
        ("fairness", "requirement", 10),
        ("simulated-odd", "cell", 5),
        ("sexism-1", "template", 4),
        (ODD, "instance", 1),
        (ODD, "case", 1),
        (ODD, "request", 1),
        (f"R1/{ODD}", "response", 1),
        (ODD, "verdict", 1),
        ("simulated/odd/sexism-1", "verdict", 2),
        ("R1", "run", 10),
    ],
)
def test_every_kind_of_id_leads_to_its_prompts(landed, asked, kind, leads_to):
    found = trace(landed, asked, kind=kind, run_id="R1", examples=100)
    assert found.prompts == len(found.cases) == leads_to
    assert found.is_whole
    assert found.origin.kind == kind
    assert {row["requirement"] for row in found.findings} == {"fairness"}


def test_the_kind_of_an_id_is_found_out(landed):
    assert trace(landed, "fairness").origin.kind == "requirement"
    assert trace(landed, "simulated-odd").origin.kind == "cell"
    assert trace(landed, f"R2/{ODD}").origin.kind == "response"
    assert trace(landed, "r1").origin.kind == "run"


def test_the_newest_run_that_knows_it_is_reported_with_the_others(landed):
    found = trace(landed, "fairness")
    assert (found.run["run_id"], found.origin.other_runs) == ("R3", ("R2", "R1"))
    assert trace(landed, "fairness", run_id="R2").run["run_id"] == "R2"
    assert trace(landed, f"R1/{ODD}").run["run_id"] == "R1"


def test_an_id_that_may_be_several_is_reported_with_all_of_them(landed):
    with pytest.raises(UserError) as caught:
        trace(landed, ODD)
    reported = str(caught.value)
    assert all(f"{kind} `{ODD}`" in reported for kind in ("case", "instance", "request", "verdict"))
    assert "--kind instance or --kind case" in reported


def test_the_beginning_of_an_id_is_enough_unless_several_have_it(landed):
    assert trace(landed, "fairne").origin.id == "fairness"
    assert trace(landed, "R1/simulated/odd/sexism-1/w").origin.id == f"R1/{ODD}"
    with pytest.raises(UserError, match="write more of it"):
        trace(landed, "simulated-")


@pytest.mark.parametrize(
    ("asked", "reported"),
    [("fairnes_", "`fairness`"), ("sexism-4", "`sexism-1`"), ("zzz", "name a requirement"), ("R1/", "`R1`")],
)
def test_an_unknown_id_is_one_message_with_the_nearest(landed, asked, reported):
    with pytest.raises(UserError) as caught:
        trace(landed, asked)
    (mistake,) = caught.value.mistakes
    assert f"`{asked}`" in mistake.what
    assert reported in mistake.remedy


def test_a_mistyped_id_names_the_one_that_shares_its_beginning_or_end(landed):
    mistyped = f"R1/{ODD}".replace("odd", "0dd")
    with pytest.raises(UserError, match=f"did you mean `R1/{ODD}`"):
        trace(landed, mistyped, kind="response")


def test_a_run_or_model_that_it_does_not_lead_to_is_a_mistake(landed):
    with pytest.raises(UserError, match="simulated/odd"):
        trace(landed, "fairness", model="simulated/od")
    with pytest.raises(UserError, match="--run"):
        trace(landed, f"R1/{ODD}", run_id="R2")


def test_a_trace_holds_what_was_asked_what_was_answered_and_why_it_counts(landed):
    (case,) = trace(landed, f"R1/{ODD}").cases
    assert case["messages"][0]["content"] == "@women?"
    (response,) = case["responses"]
    assert response["text"].startswith("=HYPERLINK")
    (verdict,) = case["verdicts"]
    assert (verdict["outcome"], verdict["stands"]) == ("failed", True)


def test_one_model_alone_may_be_asked_for(landed):
    found = trace(landed, "fairness", model="simulated/fair", examples=100)
    assert {row["model"] for row in found.findings} == {"simulated/fair"}
    assert found.prompts == 5


def test_where_not_everything_is_shown_what_did_not_pass_comes_first(landed):
    found = trace(landed, "fairness", run_id="R1", examples=2)
    assert found.prompts == 10
    assert not found.is_whole
    assert prompts(found) == {ODD, "simulated/odd/sexism-2/women"}
    assert found.outcomes == {"passed": 3, "failed": 1, "error": 1, "refused": 1}


def test_numbers_that_are_compared_are_reported_with_whom_they_were_given_to(landed):
    found = trace(landed, "sexism-3", run_id="R1", model="simulated/fair", examples=5)
    (test,) = found.test_rows
    assert (test["communities_at_min"], test["communities_at_max"], float(test["spread"])) == ("women", "men", 1.5)
    assert [float(verdict["parsed_value"]) for case in found.cases for verdict in case["verdicts"]] == [51.5, 50]


def test_the_json_adds_up(landed):
    reported = json.loads(trace(landed, "sexism-1", run_id="R1", examples=1).as_json("select 1"))
    assert reported["asked"] == {"kind": "template", "id": "sexism-1", "other_runs": ["R3", "R2"]}
    assert reported["in_scope"]["prompts"] == 4
    assert reported["in_scope"]["prompts_shown"] == len(reported["cases"]) == 1
    assert {row["cell_id"] for row in reported["cells"]} == {"simulated-odd", "simulated-fair"}
    assert reported["sql"] == "select 1"


def test_the_sql_makes_the_finding_again_from_the_lake_alone(landed):
    found = trace(landed, f"R1/{ODD}")
    bare = duckdb.connect()
    bare.execute(as_script(landed))
    bare.execute(found.as_sql()).fetchall()
    asked = "select point_finding, tests, passed from marts.requirement_findings where model = 'simulated/odd'"
    (finding,) = bare.sql(asked).fetchall()
    (reported,) = found.findings
    assert finding == (reported["point_finding"], reported["tests"], reported["passed"]) == ("not met", 3, 0)


@pytest.fixture(scope="module")
def overruled(landed: Lake, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Run R1, in which a person has overruled the oracle."""
    lake = Lake.open(tmp_path_factory.mktemp("overruled"))
    for table in ("runs", "cases", "responses", "criteria", "verdicts"):
        for name in landed.files(table, "R1"):
            lake.write(table, "R1", name.stem, pl.read_parquet(name))
    before = lake.read("verdicts").filter(pl.col("verdict_id") == ODD)
    over = before.with_columns(
        verdict_id=pl.lit("by-hand-1"),
        assessor_kind=pl.lit("person"),
        reviewer=pl.lit("Ada"),
        outcome=pl.lit("passed"),
        reason=pl.lit("it is a joke"),
        supersedes=pl.lit(ODD),
    )
    lake.write("verdicts", "R1", "review", over)
    build(lake)
    return lake


@pytest.mark.parametrize("asked", ["by-hand-1", ODD])
def test_a_verdict_that_was_overruled_is_found_and_reported_as_replaced(overruled, asked):
    found = trace(overruled, asked, kind="verdict")
    (case,) = found.cases
    assert {verdict["verdict_id"]: verdict["stands"] for verdict in case["verdicts"]} == {
        ODD: False,
        "by-hand-1": True,
    }
