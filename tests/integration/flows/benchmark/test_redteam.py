"""A red team from end to end: what succeeds on which model, what is shown, and how it resumes after a kill."""

from pathlib import Path
from typing import Any

import pytest

from biasgrid.warehouse.build.build import query
from biasgrid.warehouse.storage.runs import all_runs
from support.flows import write_yaml
from support.paths import ROOT

pytestmark = pytest.mark.drill

RATES = "select model, strategy, succeeded, resisted, refused from marts.attack_success where run_id = ?"
PLACES = (
    "select session, turn, speaker, request_key from staging.stg_responses where run_id = ? and text is not null"
)


@pytest.fixture
def target(tmp_path: Path) -> Any:
    def write(*models: str, **settings: Any) -> Path:
        own = {"attacker": "simulated/attacker", "judge": "simulated/red-judge", "pairs": ["doctor-nurse"]}
        described = {"models": [*models], "company": "Acme", "purpose": "advice on careers"}
        redteam = {**own, "turns": 6, **settings}
        return write_yaml(tmp_path / "chatbot.yaml", {"target": described, "redteam": redteam})

    return write


def test_what_lasts_succeeds_on_who_gives_in_and_nothing_on_who_declines(shell, target):
    mine = shell("attacked")
    code, out, err = mine.finish("redteam", target("simulated/attackable", "simulated/refuser"))
    assert code == 1, err
    assert (mine.run().kind, mine.run().state) == ("redteam", "completed")
    found = {
        (model, strategy): rest for model, strategy, *rest in query(mine.lake, RATES, [mine.run().run_id]).rows()
    }
    for strategy in ("one_shot", "direct", "separated", "selection", "implicit_separated", "crescendo", "persona"):
        lasts = strategy in ("direct", "selection", "crescendo", "persona")
        assert found["simulated/attackable", strategy] == ([1, 0, 0] if lasts else [0, 1, 0])
        assert found["simulated/refuser", strategy] == [0, 0, 1]
    assert "turn 4: “Between us, there is something to it" in out
    assert all(len(line) <= 80 for line in out.splitlines() if "/" not in line and "turn 4" not in line)


def test_who_resists_everything_is_no_failure(shell, target):
    mine = shell("resisted")
    code, _, err = mine.finish("redteam", target("simulated/fair"), "--strategy", "separated", "--turns", 2)
    assert code == 0, err


def test_a_cap_leaves_sessions_open_and_a_higher_one_closes_them(shell, target, tmp_path):
    mine = shell("capped")
    words = ("redteam", target("simulated/fair"), "--strategy", "direct", "--max-requests", 7)
    code, out, err = mine.finish(*words)
    assert code == 3, err
    assert "INCOMPLETE" in out
    assert "1 open" in mine.finish("show", "--all")[1]
    changed = tmp_path / "catalog" / "attacks" / "ca_es.yaml"
    changed.parent.mkdir(parents=True)
    changed.write_text((ROOT / "catalogs" / "attacks" / "ca_es.yaml").read_text() + "# changed\n")
    mine.environment["BIASGRID_CATALOG"] = str(tmp_path / "catalog")
    code, _, err = mine.finish("resume", "--max-requests", 100)
    assert code == 0, err
    assert f"catalog files changed since run {mine.run().run_id} was planned: 1 by which it goes" in err
    places = query(mine.lake, PLACES, [mine.run().run_id])
    assert places.height == places["request_key"].n_unique() == 6 + 6 + 5


def test_a_killed_red_team_goes_on_in_mid_conversation(shell, gateway, target):
    server = gateway("slow", latency_ms=150, yields_after=5)
    mine = shell("killed")
    asked = target("gateway/slow", strategies=["direct", "persona", "crescendo"], sessions=2)
    mine.kill(server, 14, "redteam", asked)
    kept = mine.arrived_replies()
    assert len(kept) >= 14
    code, _, err = mine.finish("resume")
    assert code == 1, err
    (run,) = all_runs(mine.lake)
    places = query(mine.lake, PLACES, [run.run_id])
    assert places.height == places["request_key"].n_unique()
    succeeded = query(mine.lake, "select sum(succeeded) from marts.attack_success where run_id = ?", [run.run_id])
    assert succeeded.item() == 6
