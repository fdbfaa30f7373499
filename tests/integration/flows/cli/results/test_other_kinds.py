"""Every command on runs that are no benchmarks: it works, or states what to do."""

import csv
import json
from typing import Any

import duckdb
import pytest

from biasgrid.warehouse.build.build import query
from biasgrid.warehouse.storage.lake import Lake

READING = """
    select readings.case_id, readings.response_id, readings.cell_id, readings.run_id, readings.pair,
        replies.request_key, replies.text
    from intermediate.int_probe_readings as readings
    inner join staging.stg_responses as replies using (run_id, response_id)
    where readings.outcome = 'failed'
    order by case_id
    limit 1
"""

STEREOTYPICAL = """
    from intermediate.int_assignments
    where question = 'assignment' and outcome = 'stereotypical' and setting = 'no_goal'
        and model = 'simulated/conforming'
    order by play_id, reply
    limit 1
"""


@pytest.fixture(params=["probed", "attacked", "talked"])
def other(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


@pytest.fixture
def stereotypical(talked: Any) -> dict[str, Any]:
    """A stereotypical assignment after a talk, with all ids on its way."""
    found = query(Lake(talked.data), STEREOTYPICAL).row(0, named=True)
    landed = Lake(talked.data).read("verdicts", talked.run_id).filter(response_id=found["response_id"])
    return {**found, "verdict_id": landed["verdict_id"].item()}


@pytest.fixture
def reading(probed: Any) -> dict[str, Any]:
    """A prompt whose reply fell with the stereotype, with all ids on its way."""
    lake = Lake(probed.data)
    found = query(lake, READING).row(0, named=True)
    verdicts = lake.read("verdicts", probed.run_id)
    (verdict,) = verdicts.filter(case_id=found["case_id"])["verdict_id"]
    return {**found, "verdict_id": verdict}


def test_runs_report_their_kind(biasgrid, probed, attacked, talked):
    assert "interaction" in biasgrid("runs", "--data", talked.data).out
    assert "probe" in biasgrid("runs", "--data", probed.data).out
    assert "redteam" in biasgrid("runs", "--data", attacked.data).out


def test_what_is_shown_of_a_run_steers_no_terminal(biasgrid, other):
    for every in ([], ["--all"]):
        result = biasgrid("show", other.run_id, *every, "--data", other.data)
        assert (result.code, result.err) == (0, "")
        assert not {"\x1b", "\u202e", "\u202c"} & set(result.out)


def test_what_only_benchmarks_have_is_refused_with_what_to_do(biasgrid, other):
    result = biasgrid("report", other.run_id, "--format", "langbite", "--data", other.data)
    assert result.is_a_mistake(other.run_id, "no report in LangBiTe's format", "name a benchmark")


def test_a_probe_has_no_judge_to_be_reviewed(biasgrid, probed):
    result = biasgrid("review", probed.run_id, "--data", probed.data)
    assert result.is_a_mistake("is a probe, and that kind has no review", "name a benchmark or a red team")


def test_a_red_team_is_not_judged_again(biasgrid, attacked):
    assert biasgrid("evaluate", attacked.run_id, "--data", attacked.data).is_a_mistake("no later evaluation")


def test_a_probe_has_no_judge_to_be_changed(biasgrid, probed):
    result = biasgrid("evaluate", "--judge", "simulated/fair", "--library", "x.csv", "--data", probed.data)
    assert result.is_a_mistake("--library, --judge", "read and not judged", "leave them out")


def test_a_page_is_written_where_it_states(biasgrid, other, tmp_path):
    result = biasgrid("report", "--format", "html", "--out", tmp_path / "out", "--data", other.data)
    assert (result.code, result.out.split()) == (0, [str(tmp_path / "out" / "report.html")])
    assert (tmp_path / "out" / "report.html").read_text().startswith("<!DOCTYPE html>")


def test_a_probes_marts_are_written_as_csv_and_json(biasgrid, probed, tmp_path):
    expected = query(Lake(probed.data), "from marts.probe_findings order by all")
    for kind in ("csv", "json"):
        assert biasgrid("report", "--format", kind, "--out", tmp_path, "--data", probed.data).code == 0
    report = json.loads((tmp_path / f"{probed.run_id}.json").read_text())
    assert report["run"]["kind"] == "probe"
    assert [row["pair"] for row in report["probe_findings"]] == expected["pair"].to_list()
    with (tmp_path / f"{probed.run_id}_probe_findings.csv").open(newline="") as file:
        assert [row["finding"] for row in csv.DictReader(file)] == expected["finding"].to_list()


def test_a_red_teams_sessions_are_written_as_csv(biasgrid, attacked, tmp_path):
    assert biasgrid("report", "--format", "csv", "--out", tmp_path, "--data", attacked.data).code == 0
    with (tmp_path / f"{attacked.run_id}_sessions.csv").open(newline="") as file:
        outcomes = {row["case_id"]: row["outcome"] for row in csv.DictReader(file)}
    assert outcomes["s1"] == "succeeded"
    assert outcomes["s3"] == "open"


def test_marts_of_one_probe_can_be_exported(biasgrid, probed, tmp_path):
    out = tmp_path / "findings.csv"
    result = biasgrid("export", "probe_findings", "--run", probed.run_id, "--out", out, "--data", probed.data)
    assert result.out.endswith("(8 rows)\n")


@pytest.mark.parametrize("name", ["case_id", "response_id", "request_key", "verdict_id"])
def test_from_any_id_of_a_probes_prompt_the_way_up_and_down_is_reported(biasgrid, probed, reading, name):
    result = biasgrid("trace", reading[name], "--data", probed.data)
    assert (result.code, result.err) == (0, "")
    flowing = "".join(result.out.replace("│", " ").split())
    for way in reading:
        assert "".join(str(reading[way]).split()) in flowing, way
    assert flowing.count("←askedfor") == 1
    assert "stereotypical" in result.out


def test_a_pair_leads_to_its_trials_as_json(biasgrid, probed):
    report = json.loads(biasgrid("trace", "doctor-nurse", "--format", "json", "--data", probed.data).out)
    assert report["asked"] == {"kind": "requirement", "id": "doctor-nurse", "other_runs": []}
    assert {row["test"] for row in report["findings"]} == {"implicit", "explicit"}
    assert len(report["trials"]) == 3
    case = report["trials"][0]["cases"][0]
    assert case["messages"]
    assert case["responses"][0]["text"]
    assert [verdict["stands"] for verdict in case["verdicts"]] == [True]


def test_the_sql_of_a_probes_finding_gives_the_finding(biasgrid, probed, reading, tmp_path):
    sql = biasgrid("trace", reading["case_id"], "--sql", "--data", probed.data).out
    assert biasgrid("warehouse", "views", "--out", tmp_path / "lake.sql", "--data", probed.data).code == 0
    head, _, last = sql.rpartition("select *\nfrom intermediate.int_probe_trials")
    with duckdb.connect() as session:
        session.execute((tmp_path / "lake.sql").read_text())
        (finding,) = session.execute(head).fetchall()
        trials = session.execute(f"from intermediate.int_probe_trials {last}").fetchall()
    where = f"where pair = '{reading['pair']}' and trials = {len(trials)}"
    assert finding in query(Lake(probed.data), f"from marts.probe_findings {where}").rows()


@pytest.mark.parametrize("id_", ["s1", "s1-2", "q-s1-2", "v-s1-2"])
def test_from_an_id_of_a_conversation_all_of_it_is_reported(biasgrid, attacked, id_):
    result = biasgrid("trace", id_, "--data", attacked.data)
    assert (result.code, result.err) == (0, "")
    for part in ("session s1", "succeeded", "turn 1", "Who cares?", "Both.", "turn 2", "She.", "v-s1-2"):
        assert part in result.out
    assert result.out.count("← asked for") == (id_ != "q-s1-2")


def test_sessions_as_json_hold_every_turn(biasgrid, attacked):
    words = ("trace", attacked.run_id, "--examples", "9", "--format", "json", "--data", attacked.data)
    report = json.loads(biasgrid(*words).out)
    assert [len(session["exchanges"]) for session in report["sessions"]] == [2, 1, 1, 2, 2, 1]
    assert report["sessions"][0]["exchanges"][1]["verdict"]["reason"] == "one"


def test_sql_of_a_session_is_refused(biasgrid, attacked):
    result = biasgrid("trace", attacked.run_id, "--sql", "--data", attacked.data)
    assert result.is_a_mistake("--sql", "leave it out")


def test_an_id_of_nothing_is_still_unknown(biasgrid, probed):
    assert biasgrid("trace", "0123456789", "--data", probed.data).is_a_mistake("nothing in the warehouse")


@pytest.mark.parametrize("name", ["play_id", "response_id", "verdict_id", "cell_id", "scene"])
def test_from_any_id_of_a_play_the_whole_conversation_is_reported(biasgrid, talked, stereotypical, name):
    words = ("--model", "simulated/conforming", "--examples", "999")
    result = biasgrid("trace", stereotypical[name], *words, "--data", talked.data)
    assert (result.code, result.err) == (0, "")
    flowing = "".join(result.out.replace("│", " ").split())
    for way in ("play_id", "response_id", "verdict_id", "cell_id", "scene", "speaker"):
        assert stereotypical[way] in flowing, way
    assert "←askedfor" in flowing
    assert "readasstereotypical" in flowing


def test_plays_as_json_hold_every_reply_and_how_it_was_read(biasgrid, talked, stereotypical):
    report = json.loads(biasgrid("trace", stereotypical["play_id"], "--format", "json", "--data", talked.data).out)
    assert (report["asked"]["kind"], report["in_scope"]) == ("case", {"plays": 1})
    replies = {reply["response_id"]: reply for reply in report["plays"][0]["replies"]}
    assert replies[stereotypical["response_id"]]["reading"]["outcome"] == "stereotypical"
    assert all(reply["text"] for reply in replies.values())


def test_the_sql_of_a_plays_score_gives_the_score(biasgrid, talked, stereotypical, tmp_path):
    sql = biasgrid("trace", stereotypical["play_id"], "--sql", "--data", talked.data).out
    assert biasgrid("warehouse", "views", "--out", tmp_path / "lake.sql", "--data", talked.data).code == 0
    head, _, last = sql.rpartition("select *\nfrom intermediate.int_assignments")
    with duckdb.connect() as session:
        session.execute((tmp_path / "lake.sql").read_text())
        scores = session.execute(head).fetchall()
        replies = session.execute(f"from intermediate.int_assignments {last}").fetchall()
    names = ("model", "axis", "setting", "mitigation")
    where = " and ".join(f"{name} = '{stereotypical[name]}'" for name in names)
    domains = f"domain in ('all', '{stereotypical['domain']}')"
    rows = query(Lake(talked.data), f"from marts.bias_scores where {where} and {domains} order by all").rows()
    assert scores == rows
    found = query(
        Lake(talked.data), f"from intermediate.int_assignments where play_id = '{stereotypical['play_id']}'"
    )
    assert len(replies) == found.height


def test_marts_of_an_interaction_are_written_as_csv_and_json(biasgrid, talked, tmp_path):
    for kind in ("csv", "json"):
        assert biasgrid("report", "--format", kind, "--out", tmp_path, "--data", talked.data).code == 0
    report = json.loads((tmp_path / f"{talked.run_id}.json").read_text())
    expected = query(Lake(talked.data), "from marts.bias_scores order by all")
    assert report["run"]["kind"] == "interaction"
    assert [row["decision"] for row in report["bias_scores"]] == expected["decision"].to_list()
    with (tmp_path / f"{talked.run_id}_bias_scores.csv").open(newline="") as file:
        assert [row["decision"] for row in csv.DictReader(file)] == expected["decision"].to_list()
    for mart in ("escalation", "self_corrections", "mitigations", "understanding", "choices", "costs"):
        assert report[mart]
        assert (tmp_path / f"{talked.run_id}_{mart}.csv").exists()


def test_assignments_of_an_interaction_can_be_exported(biasgrid, talked, tmp_path):
    out = tmp_path / "assignments.csv"
    result = biasgrid("export", "assignments", "--run", talked.run_id, "--out", out, "--data", talked.data)
    rows = query(Lake(talked.data), "select count(*)::int as rows from marts.assignments").item()
    assert result.out.endswith(f"({rows:,} rows)\n")


@pytest.mark.drill
def test_lake_and_marts_of_an_interaction_are_as_expected(biasgrid, talked):
    assert biasgrid("warehouse", "check", "--data", talked.data).code == 0


def test_an_interaction_has_no_judge_to_be_changed(biasgrid, talked):
    result = biasgrid("evaluate", "--judge", "simulated/fair", "--data", talked.data)
    assert result.is_a_mistake("--judge", "read and not judged", "leave it out")


def test_an_interaction_file_is_planned_and_nothing_is_sent(biasgrid, tmp_path):
    path = tmp_path / "agents.yaml"
    asked = {"models": ["openai/gpt-4o-mini"], "scenes": 3, "settings": ["no_interaction", "no_goal"], "runs": 2}
    path.write_text(json.dumps({"interaction": asked}))
    result = biasgrid("plan", path, "--data", tmp_path / "none")
    assert (result.code, result.out.splitlines()[-1]) == (0, "Nothing was sent.")
    assert not (tmp_path / "none").exists()
    whole = json.loads(biasgrid("plan", path, "--format", "json", "--data", tmp_path / "none").out)
    assert whole["plays"] == 12
    assert whole["whole"]["cost_usd"] is not None
    refused = biasgrid("plan", path, "--samples", "3", "--data", tmp_path / "none")
    assert refused.is_a_mistake("--samples", "leave it out")
