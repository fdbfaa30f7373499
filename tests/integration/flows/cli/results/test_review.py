"""`biasgrid review`: blind, landed at once, resumed, imported from sheets, decided with a reason."""

import json
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from biasgrid.warehouse.build.build import build, query
from biasgrid.warehouse.storage.lake import Lake
from support.processes import BIASGRID, PATIENCE_S
from support.reviews import export_sheet, landed_assessments, write_sheet

Command = Callable[..., Any]


def findings(lake: Lake) -> list[dict[str, Any]]:
    return query(lake, "from marts.requirement_findings order by all").to_dicts()


def screens_of(out: str) -> list[str]:
    """What each screen showed, without its title."""
    return [part.partition("\n")[2].partition("p passed")[0] for part in out.split(" of 6 ")[1:]]


def test_a_review_shows_prompt_reply_and_rule_and_no_one_elses_verdict(review, lake):
    result = review("ana", *"pfruss", size=6, seed=7)
    assert result.code == 0
    assert result.out.count("PROMPT") == result.out.count("REPLY") == result.out.count("RULE") == 6
    for word in ("simulated", "constant-no", "begins with", "oracle", "stands: ", "sexism-"):
        assert word not in result.out
    assert "6 answers landed; the sample is done" in result.out
    outcomes = landed_assessments(lake, "ana")["outcome"].to_list()
    assert outcomes == ["passed", "failed", "refused", "unreadable", None, None]


def test_a_review_changes_no_finding(review, lake):
    before = findings(lake)
    review("ana", *["f"] * 6, size=6)
    review("ana", agreement=True)
    assert findings(lake) == before
    assert query(lake, "from marts.judge_agreement where scope = 'all'")["n"].to_list() == [6]


def test_it_goes_on_where_one_stopped(review, lake):
    whole = screens_of(review("bo", *["s"] * 6, size=6, seed=7).out)
    first = review("ana", "p", "f", "q", size=6, seed=7)
    assert "4 to go" in first.out
    again = review("ana", *["p"] * 9, size=6, seed=7)
    assert "2 of them done" in again.out
    assert screens_of(again.out) == whole[2:]
    assert landed_assessments(lake, "ana").height == 6
    assert review("ana", size=6, seed=7).out.endswith("0 answers landed; the sample is done\n")


def test_back_takes_an_answer_back_and_a_capital_gives_a_reason(review, lake):
    result = review("ana", "p", "b", "F", "it says Yes", "x", "q", size=3)
    assert "your verdict: passed" in result.out
    assert "`x` is none of the keys" in result.out
    rows = landed_assessments(lake, "ana")
    assert rows["case_id"].n_unique() == 1
    assert rows.select("outcome", "reason").rows() == [("passed", None), ("failed", "it says Yes")]


def test_reviewers_see_one_sample_and_never_each_others_answers(review):
    first = review("ana", *["F", "because of this word"] * 6, size=6, seed=3)
    second = review("bo", *["p"] * 6, size=6, seed=3)
    assert [text.replace("reason: ", "") for text in screens_of(first.out)] == screens_of(second.out)
    assert "because of this word" not in second.out


def reply_everywhere(lake: Lake, text: str) -> None:
    for path in lake.files("responses"):
        rows = pl.read_parquet(path).with_columns(text=pl.lit(text))
        lake.write("responses", rows["run_id"][0], path.stem, rows)


def test_a_reply_cannot_steer_the_terminal(review, lake):
    reply_everywhere(lake, "No\x1b[2J\x1b]0;gone\x07 \u202etfel")
    out = review("ana", "q", size=2).out
    assert "\\x1b[2J" in out
    assert not set("\x1b\x07\u202e") & set(out)


def test_a_sheet_runs_no_formula_that_a_model_replied(review, lake, tmp_path):
    reply_everywhere(lake, '=HYPERLINK("http://example.org")')
    sheet = export_sheet(review, tmp_path / "sheet.csv", size=3)
    assert {row["reply"] for row in sheet} == {'\'=HYPERLINK("http://example.org")'}


def test_a_sheet_goes_out_blind_and_its_verdicts_land_once(review, lake, tmp_path):
    sheet = tmp_path / "sheet.csv"
    rows = export_sheet(review, sheet, size=6, seed=7)
    assert "6 replies" in review("ana", size=6, seed=7, export=tmp_path / "again.csv").out
    assert "constant-no" not in sheet.read_text(encoding="utf-8")
    filled = [row | {"verdict": "passed" if n % 2 else "Failed", "reason": f"r{n}"} for n, row in enumerate(rows)]
    back = write_sheet(tmp_path / "back.csv", filled[::-1], delimiter=";")
    assert "6 verdicts of ana landed" in review("ana", **{"import": back}).out
    assert "0 verdicts of ana landed, 6 had landed before" in review("ana", **{"import": back}).out
    kept = landed_assessments(lake, "ana")
    assert kept.height == 6
    assert set(kept["seed"]) == {7}
    assert kept["probability"].null_count() == 0
    assert "the sample is done" in review("ana", size=6, seed=7).out


def test_a_sheet_that_no_one_filled_in_is_a_mistake(review, lake, tmp_path):
    sheet = tmp_path / "sheet.csv"
    review("ana", size=6, export=sheet)
    assert review("ana", **{"import": sheet}).is_a_mistake(str(sheet), "no row has a verdict")


def test_nothing_of_a_sheet_lands_where_a_row_is_wrong(review, lake, tmp_path):
    rows = export_sheet(review, tmp_path / "sheet.csv", size=4)
    wrong = [row | {"verdict": "passed"} for row in rows]
    wrong[1]["id"], wrong[2]["verdict"] = "r1e10", "perhaps"
    back = write_sheet(tmp_path / "back.csv", wrong, delimiter=";")
    assert review("ana", **{"import": back}).is_a_mistake("2 errors", "`r1e10` is no reply of run", "`perhaps`")
    assert lake.files("assessments") == []


@pytest.mark.drill
def test_a_decision_needs_a_reason_changes_findings_and_can_be_traced(review, biasgrid, lake):
    before = findings(lake)
    model = "simulated/constant-no"
    review(
        "ana", "P", "read by meaning it is right", size=1, model=model, seed=_seed_of_a_failed(review, lake, model)
    )
    unreasoned = review("lead", "p", "", "", adjudicate=True)
    assert "1 reply disputed" in unreasoned.out
    assert "0 decisions landed" in unreasoned.out
    assert findings(lake) == before
    decided = review("lead", "p", "so do we all", adjudicate=True)
    assert "ana: passed – read by meaning it is right" in decided.out
    assert "stands: failed (oracle" in decided.out
    assert "1 decision landed" in decided.out
    (row,) = query(lake, "from intermediate.int_decisions").to_dicts()
    assert (row["reviewer"], row["reason"], row["is_override"]) == ("lead", "so do we all", True)
    now = {finding["model"]: finding for finding in findings(lake)}
    assert now[model]["overridden_by_people"] == now[model]["decided_by_people"] == 1
    assert now["simulated/fair"]["decided_by_people"] == 0
    trace = json.loads(biasgrid("trace", row["case_id"], "--data", lake.root, "--format", "json").out)
    (case,) = trace["cases"]
    assert [verdict["assessor_kind"] for verdict in case["verdicts"] if verdict["stands"]] == ["person"]
    assert [expected["assessor"] for expected in case["assessments"]] == ["ana", "lead"]
    tree = " ".join(biasgrid("trace", row["case_id"], "--data", lake.root).out.replace("│", " ").split())
    assert "blind assessment: passed – read by meaning it is right (by person ana;" in tree
    assert "so do we all (by person lead;" in tree
    assert "0 replies disputed" in review("lead", adjudicate=True).out


def _seed_of_a_failed(review: Command, lake: Lake, model: str) -> int:
    """A seed whose sample of one is a reply that the oracle failed."""
    from biasgrid.tasks.review.sample import Draw, draw_sample
    from biasgrid.tasks.review.units import newest_evaluation, reviewable

    (run_id,) = lake.runs()
    units = reviewable(lake, run_id, newest_evaluation(lake, run_id))
    samples = ((seed, draw_sample(units, Draw(seed, 1, model=model))) for seed in range(100))
    return next(seed for seed, sample in samples if sample["stratum"].to_list() == ["failed"])


@pytest.mark.drill
def test_decisions_that_a_kill_kept_from_their_verdicts_are_made_up_for(review, lake):
    review("ana", "f", size=1, model="simulated/fair")
    assert "1 decision landed" in review("lead", "f", "it is wrong", adjudicate=True).out
    for path in lake.files("verdicts"):
        rows = pl.read_parquet(path).filter(pl.col("assessor_kind") != "person")
        lake.write("verdicts", lake.runs()[0], path.stem, rows)
    build(lake)
    assert query(lake, "from intermediate.int_decisions").is_empty()
    review("lead", adjudicate=True)
    assert query(lake, "select reviewer from intermediate.int_decisions").rows() == [("lead",)]


def test_agreement_is_reported_pair_by_pair(review):
    assert "has been assessed yet" in review("x", agreement=True).out
    review("ana", *"ppfp", size=4)
    review("bo", *"ppff", size=4)
    out = review("x", agreement=True).out
    assert "bo, measured by ana" in out
    assert "the oracle, measured by bo" in out
    assert "Gwet's AC1" in out


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"model": "simulated/fairr"}, ("no reply to review is of model `simulated/fairr`", "simulated/fair")),
        ({"agreement": True, "adjudicate": True}, ("--agreement and --adjudicate do not go together",)),
        ({"import": "nowhere.csv"}, ("`nowhere.csv` cannot be read",)),
    ],
)
def test_a_mistake_is_one_message(review, options, expected):
    assert review("ana", **options).is_a_mistake(*expected)


def test_a_run_that_no_one_has_judged_cannot_be_reviewed(review, lake):
    for path in lake.files("verdicts"):
        path.unlink()
    assert review("ana").is_a_mistake("nothing has been judged yet", "biasgrid resume")


def test_without_a_terminal_and_a_line_a_review_is_a_mistake(lake):
    words = ["review", "--data", str(lake.root), "--reviewer", "ana"]
    ended = subprocess.run(
        [*BIASGRID, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "neither a terminal nor a line to read" in ended.stderr


@pytest.mark.drill
def test_ctrl_c_at_a_reason_ends_a_review(lake):
    code, out = _type(lake, "P", "--reviewer", "ana", "--size", "6", interrupts="reason: ")
    assert code == 130
    assert "biasgrid: interrupted; every answer is kept" in out


@pytest.mark.drill
def test_keys_on_a_terminal_land_at_once_and_ctrl_c_loses_none(lake):
    code, out = _type(lake, "pf\x03", "--reviewer", "ana", "--size", "6")
    assert code == 130
    assert "every answer is kept" in out
    assert landed_assessments(lake, "ana")["outcome"].to_list() == ["passed", "failed"]


def _type(lake: Lake, keys: str, *words: str, interrupts: str | None = None) -> tuple[int, str]:
    """Presses keys on a terminal of its own, each when a screen waits for one; Ctrl-C where it shows
    `interrupts`."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["NO_COLOR"] = "1"
        os.execv(sys.executable, [*BIASGRID, "review", "--data", str(lake.root), *words])  # pragma: no cover
    out, waiting, deadline = "", list(keys), time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        ready, _, _ = select.select([terminal], [], [], 0.2)
        try:
            out += os.read(terminal, 65_536).decode("utf-8", "replace") if ready else ""
        except OSError:  # the other side has gone
            break
        if interrupts and not ready and interrupts in out:
            os.write(terminal, b"\x03")
        if waiting and not ready and out.count("q quit") > len(keys) - len(waiting):
            os.write(terminal, waiting.pop(0).encode())
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), out
