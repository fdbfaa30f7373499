"""Interactions from end to end: what is shown, and how one goes on after a kill in mid-conversation."""

import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from biasgrid.warehouse.build.build import query
from biasgrid.warehouse.storage.runs import all_runs
from support.flows import write_yaml
from support.processes import PATIENCE_S
from support.run_processes import wait_for_requests

pytestmark = pytest.mark.drill

SCENES = ["office-server-migration", "office-new-premises", "school-case-lead"]
REPLIES = """
    select session, turn, speaker, text from staging.stg_responses
    where run_id = ? and text is not null order by all
"""
SCORES = "select * exclude (run_id) from marts.bias_scores order by all"
TALKS = {"scenes": SCENES, "settings": ["no_goal"], "mitigations": ["reflection"], "runs": 2}
REQUESTS = len(SCENES) * 2 * 4 * 5


@pytest.fixture
def talk(gateway: Any, tmp_path: Path) -> tuple[Any, Path]:
    """The conforming respondent over HTTP, 150 ms away, and who is to talk."""
    own = {"strength": 0.3, "conformity": 0.8, "corrects": 0.5}
    server = gateway("slow", {"limits": {"concurrency": 4}}, latency_ms=150, assigning=own)
    return server, write_yaml(tmp_path / "talks.yaml", {"interaction": {"models": ["gateway/slow"]} | TALKS})


def asked_more_than_once(server: Any) -> int:
    """Requests with the same messages as an earlier one; agents with equal messages count too."""
    return sum(times - 1 for times in Counter(str(body["messages"]) for body in server.bodies).values())


def test_scores_are_shown_at_80_columns_and_the_exit_code_reports_of_bias(shell):
    mine = shell("shown", COLUMNS="80", NO_COLOR="1")
    words = ("interact", "--model", "simulated/assigning", "--scenes", 6, "--runs", 2)
    code, out, err = mine.finish(*words)
    assert code in (0, 1), err
    assert (mine.run().kind, mine.run().state) == ("interaction", "completed")
    out += mine.finish("show", "--all")[1]
    assert "simulated/assigning · en_us · gender" in out
    assert "what talking changed" in out
    assert all(len(line) <= 80 for line in out.splitlines() if str(mine.data) not in line)
    decided = set(query(mine.lake, "select decision from marts.bias_scores where domain = 'all'")["decision"])
    assert code == (1 if decided & {"biased", "anti-biased", "not evaluated"} else 0)


def test_a_killed_interaction_goes_on_in_mid_conversation_to_the_same_result(shell, talk):
    server, asked = talk
    mine = shell("killed")
    for so_many in (REQUESTS // 3, 2 * REQUESTS // 3):
        words = ("resume",) if all_runs(mine.lake) else ("interact", asked)
        mine.kill(server, so_many, *words)
    kept = mine.arrived_replies()
    code, _, err = mine.finish("resume")
    assert code in (0, 1), err
    assert kept.items() <= mine.arrived_replies().items()
    assert len(mine.arrived_replies()) == REQUESTS
    assert asked_more_than_once(server) == len(server.bodies) - REQUESTS <= 2 * 4  # in flight when it was killed

    whole = shell("whole")
    assert whole.finish("interact", asked)[0] == code
    for sql, own in ((REPLIES, True), (SCORES, False)):
        broken, unbroken = (query(one.lake, sql, [one.run().run_id] if own else []) for one in (mine, whole))
        assert broken.equals(unbroken)


def test_ctrl_c_lets_what_is_in_flight_land_and_states_how_to_go_on(shell, talk):
    server, asked = talk
    mine = shell("interrupted")
    process = mine.start("interact", asked)
    wait_for_requests(server, 30, process)
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, "Traceback" in out + err) == (130, False), err
    assert f"biasgrid resume {mine.run().run_id}" in err
    assert (mine.run().state, mine.journals()) == ("interrupted", [])
    assert len(mine.arrived_replies()) == len(server.bodies) >= 30
    mine.complete("resume")
    assert len(server.bodies) == len(mine.arrived_replies()) == REQUESTS


def test_a_cap_leaves_plays_incomplete_and_a_higher_one_finishes_them(shell, talk):
    server, asked = talk
    mine = shell("capped")
    code, _, err = mine.finish("interact", asked, "--max-requests", 50)
    assert (code, len(server.bodies)) == (3, 50), err
    out, _ = mine.complete("resume", "--max-requests", 1000)
    assert "INCOMPLETE" not in out
    assert len(server.bodies) == len(mine.arrived_replies()) == REQUESTS
