"""Audits from end to end: right answers, what is shown, and how one goes on after a kill, over HTTP."""

import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from biasgrid.flows.api import Audit
from biasgrid.tasks.report.evidence.verify import verify
from biasgrid.warehouse.build.build import query
from support.audits import write_audit

pytestmark = pytest.mark.drill

MODELS = [f"simulated/decider-{name}" for name in ("gap", "reversed", "fair", "quirk", "refusing")]
STATES = "select model, measure, finding, state from marts.score_shifts"
DECIDED = "select case_id, outcome, points from intermediate.int_audit_decisions where run_id = ? order by all"


def test_planted_gaps_are_found_in_their_direction_and_a_quirk_is_not(shell, tmp_path):
    mine = shell("planted", COLUMNS="80", NO_COLOR="1")
    asked = write_audit(tmp_path / "asked", 60, models=MODELS, margin=6)
    code, out, err = mine.finish("audit", asked, "--yes")
    assert code == 1, err
    assert mine.run().kind == "audit"
    found = {
        (model.partition("-")[2], measure): (finding, state)
        for model, measure, finding, state in query(mine.lake, STATES).iter_rows()
    }
    assert found["gap", "decision"] == ("lower", "not met")
    assert found["reversed", "decision"] == ("higher", "not met")
    assert found["fair", "decision"][1] == "met"
    assert found["quirk", "decision"] == ("too few documents or identities to show equality", "undecided")
    assert found["refusing", "decision"][1] == "not evaluated"
    assert found["refusing", "refusal"] == ("higher", "not met")
    assert "It is no audit under Local Law 144" in out
    shown = mine.finish("show", "--all")[1]
    assert "points of selection lower than men" in shown
    assert "no proof that no difference exists" in " ".join(shown.split())
    traced = mine.finish("trace", "women", "--model", "simulated/decider-gap")[1]
    assert "matched with men" in traced
    assert mine.finish("report", "--format", "html")[0] == 0
    hidden = "led a team", str(asked.parent), '"017"'
    read = _unpack(mine, tmp_path / "hashed")
    assert [text for text in hidden if text in read] == []
    assert "sha256:" in read
    whole = _unpack(mine, tmp_path / "whole", "--texts")
    assert [text for text in hidden if text not in whole] == []
    compared = mine.finish("compare", mine.run().run_id, "--models", "decider-gap", "decider-reversed")[1]
    assert "1 worse" in compared or "1 better" in compared
    assert "lower → higher" in compared


def _unpack(mine: Any, folder: Path, *words: str) -> str:
    """All texts of the bundle's tables and pages; its marts are those that its records give."""
    assert mine.finish("report", "--format", "evidence", "--out", folder, *words)[0] == 0
    (bundle,) = folder.glob("*.evidence.zip")
    assert verify(bundle).is_intact
    with zipfile.ZipFile(bundle) as opened:
        opened.extractall(folder)
    script = (folder / "recompute/recompute.sql").read_text()
    compared = duckdb.connect().execute(f"set file_search_path = '{folder}'; {script}").fetchall()
    assert {name: differing for name, _, differing in compared if differing} == {}
    texts = (
        path.read_text() for path in folder.rglob("*") if path.suffix in (".csv", ".md", ".html", ".json", ".yaml")
    )
    records = (str(pl.read_parquet(path).to_dicts()) for path in folder.rglob("*.parquet"))
    return "".join((*texts, *records))


def test_a_killed_audit_over_http_goes_on_and_asks_nothing_twice(shell, gateway, tmp_path):
    server = gateway("slow", {"limits": {"concurrency": 8}}, latency_ms=20, deciding={"gaps": {"women": -20}})
    asked = write_audit(tmp_path / "asked", 16, models=["gateway/slow"])
    mine = shell("killed")
    mine.kill(server, 150, "audit", asked, "--yes")
    code, _, err = mine.finish("resume")
    assert code == 1, err
    asked_twice = sum(times - 1 for times in Counter(str(body["messages"]) for body in server.bodies).values())
    assert asked_twice <= 8  # what was in flight when it was killed
    whole = shell("whole")
    whole.finish("audit", asked, "--yes")
    runs = [one.run().run_id for one in (mine, whole)]
    one, other = (query(own.lake, DECIDED, [run]) for own, run in zip((mine, whole), runs, strict=True))
    assert one.select(pl.len()).item() == 16 * 16 * 2
    assert one.equals(other)


def test_caps_stop_an_audit_and_scores_are_compared_in_points(shell, tmp_path: Path):
    mine = shell("scored")
    asked = write_audit(
        tmp_path / "asked",
        12,
        models=["simulated/decider-gap"],
        decision={"kind": "score", "low": 1, "high": 100},
        signals=["names", "pronouns", "affiliations"],
        prompt="Rate this applicant.\n{identity}\n\n{document}",
    )
    assert mine.finish("audit", asked, "--yes", "--max-requests", 100)[0] == 3
    code, _, err = mine.finish("resume", "--max-requests", 5000, "--yes")
    assert code == 1, err
    rows = query(
        mine.lake, "select signal, difference, finding from marts.score_shifts order by signal"
    ).to_dicts()
    assert [row["signal"] for row in rows] == ["affiliations", "names", "pronouns"]
    assert all(row["difference"] == pytest.approx(-10, abs=1) for row in rows)
    assert {row["finding"] for row in rows} == {"lower"}


def test_order_effects_of_shortlists_are_no_difference_between_groups(shell, gateway, tmp_path):
    gateway("orderly", deciding={"first": 15}, latency_ms=0)
    asked = write_audit(
        tmp_path / "asked", 60, models=["gateway/orderly"], decision={"kind": "choice", "of": 4}, margin=5, pairs=8
    )
    mine = shell("orderly", COLUMNS="100", NO_COLOR="1")
    code, _, err = mine.finish("audit", asked, "--yes")
    assert code == 0, err
    [order] = query(mine.lake, "from marts.order_effects").to_dicts()
    assert order["finding"] == "earlier places preferred"
    assert order["difference"] > 5
    [shift] = query(mine.lake, "from marts.score_shifts").to_dicts()
    assert (shift["design"], shift["state"]) == ("shortlist", "met")
    assert shift["points"] == pytest.approx(25, abs=1)
    assert "earlier places preferred" in " ".join(mine.finish("show", "--all")[1].split())


@pytest.mark.usefixtures("prefect_api")
def test_an_audit_in_one_call_from_python(tmp_path):
    asked = write_audit(tmp_path, 12, models=["simulated/decider-gap"])
    found = Audit(asked, pairs=8, data=tmp_path / "data").run()
    assert [(row["identity_group"], row["planned"]) for row in found.shifts] == [("women", 96)]
    assert not found.incomplete
