"""The drill: workers are asked to end in the middle of a night, and nights are cancelled, pile up, are paused and
overlap."""

import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from biasgrid.flows.operations.parent_watch import children
from biasgrid.flows.scheduled.turns import run_id_of
from support.night_site import Asked, Site, night_site
from support.processes import wait_until

pytestmark = pytest.mark.drill
NIGHT_S = 900.0
LATENCY_MS, AT_ONCE = 1000, 4
AWAY_S = 20.0
"""For so long the database does not answer; a shard's last requests take a few seconds."""
PAUSED_S = 20.0
"""Ten times as long as workers wait until they ask again."""
INTERVAL_S = 20
"""Of nights that take longer."""


@pytest.fixture(scope="module")
def site(server: Any, machine: Any, endpoint: Any, place: Any) -> Iterator[Site]:
    with night_site(server, machine, endpoint, place, Asked(["m1"], LATENCY_MS, AT_ONCE)) as made:
        made.machine.work("biasgrid", "--limit", "1")
        made.machine.work("biasgrid-nights")
        yield made


def end_worker(site: Site, worker: Any) -> int:
    """Asks a worker to end; its exit code."""
    worker.send_signal(signal.SIGTERM)
    code: int = worker.wait(60)
    site.machine.processes.remove(worker)
    return code


def test_a_worker_that_is_asked_to_end_passes_its_shard_on(site):
    site.endpoint.asked.clear()
    worker = site.machine.processes[0]
    begun = site.server.start("nightly/nightly")
    wait_until(lambda: len(site.endpoint.asked) > 8, every_s=0.2)
    assert end_worker(site, worker) == 0
    site.machine.work("biasgrid", "--limit", "1")
    ended = site.server.wait_for_end(begun, NIGHT_S)
    assert ended["state_type"] == "COMPLETED", ended["state"]["message"]
    (shard,) = site.server.flow_runs("shard")
    assert site.states(shard["id"]).count("Interrupted") == 1
    assert set(Counter(site.endpoint.asked).values()) == {1}


@pytest.mark.parametrize("at", ["its start", "asking"])
def test_a_night_that_is_asked_to_end_goes_on_elsewhere(site, at):
    site.endpoint.asked.clear()
    before = len(site.server.flow_runs("shard"))
    (nights,) = [one for one in site.machine.processes if "biasgrid-nights" in one.args]
    begun = site.server.start("nightly/nightly")
    signs = {"its start": lambda: children(nights.pid), "asking": lambda: len(site.endpoint.asked) > 8}
    wait_until(signs[at], every_s=0.2)
    assert end_worker(site, nights) == 0
    site.machine.work("biasgrid-nights")
    ended = site.server.wait_for_end(begun, NIGHT_S)
    assert ended["state_type"] == "COMPLETED", ended["state"]["message"]
    # one whose process does not catch the signal yet may end first: its worker waits for it
    assert site.states(begun).count("Interrupted") in ((1,) if at == "asking" else (0, 1))
    assert set(Counter(site.endpoint.asked).values()) == {1}
    assert len(site.server.flow_runs("shard")) == before + 1


def test_a_night_that_is_cancelled_raises_one_alarm_for_it(site):
    site.endpoint.asked.clear()
    begun = site.server.start("nightly/nightly")
    wait_until(lambda: len(site.endpoint.asked) > 8, every_s=0.2)
    site.server.ask(f"/flow_runs/{begun}/set_state", {"state": {"type": "CANCELLING"}})
    ended = site.server.wait_for_end(begun, NIGHT_S)
    (shard,) = [
        run for run in site.server.flow_runs("shard") if set(ended["tags"]) & {*run["tags"]} - {"biasgrid"}
    ][-1:]
    site.server.wait_for_end(shard["id"], 60)
    assert site.states(begun)[-2:] == ["Cancelling", "Cancelled"]
    assert site.states(shard["id"])[-2:] == ["Cancelling", "Cancelled"]
    wait_until(lambda: site.alarms, every_s=0.5)
    time.sleep(10)
    assert site.alarms == ["biasgrid broken: drill: the night ended as Cancelled"]


def test_a_database_that_is_away_at_a_shards_end_fails_nothing(site, postgres):
    if postgres is None:
        pytest.skip("PostgreSQL is not on this machine (install Debian's postgresql)")
    site.endpoint.asked.clear()
    begun = site.server.start("nightly/nightly")
    wait_until(lambda: len(site.endpoint.asked) > 8, every_s=0.2)
    run_id = run_id_of(site.server.ask(f"/flow_runs/{begun}")["tags"])
    planned = site.lake.read("cases", run_id).height
    wait_until(lambda: len(site.endpoint.asked) > planned - AT_ONCE, every_s=0.1)
    postgres.stop()
    time.sleep(AWAY_S)
    postgres.start()
    ended = site.server.wait_for_end(begun, NIGHT_S)
    assert ended["state_type"] == "COMPLETED", ended["state"]["message"]
    shards = [run for run in site.server.flow_runs("shard") if f"run:{run_id}" in run["tags"]]
    assert [run["state_name"] for run in shards] == ["Completed"]
    assert not {"Failed", "Crashed"} & {*site.states(shards[0]["id"])}
    assert set(Counter(site.endpoint.asked).values()) == {1}


@contextmanager
def missed_nights(site: Site, catch_up: str, age: timedelta) -> Iterator[None]:
    """Three nights half an hour apart, the last one of this age, the next one minutes away."""
    nightly = site.server.deployment("nightly/nightly")
    small = {"models": ["simulated/fair"], "catch_up": catch_up}
    path = f"/deployments/{nightly['id']}"
    site.server.ask(path, {"parameters": nightly["parameters"] | small}, method="PATCH")
    now = datetime.now(UTC)
    anchor, begin = now - age, now - timedelta(minutes=85)
    every = {"schedule": {"interval": 1800, "anchor_date": anchor.isoformat()}, "active": True}
    (made,) = site.server.ask(f"{path}/schedules", [every])
    window = {"start_time": begin.isoformat(), "end_time": now.isoformat(), "min_runs": 1}
    site.server.ask(f"{path}/schedule", window)
    yield
    site.server.ask(f"{path}/schedules/{made['id']}", method="DELETE")


@pytest.mark.parametrize(
    ("catch_up", "minutes", "expected"),
    [
        ("latest", 20, ["Skipped", "Skipped", "Completed"]),
        ("all", 20, ["Completed", "Completed", "Completed"]),
        ("none", 20, ["Skipped", "Skipped", "Skipped"]),
        ("none", 5, ["Skipped", "Skipped", "Completed"]),
    ],
)
def test_missed_nights_run_in_their_order_or_are_skipped(site, catch_up, minutes, expected):
    before = {run["id"] for run in site.server.flow_runs("nightly")}
    for worker in [one for one in site.machine.processes if "biasgrid-nights" in one.args]:
        end_worker(site, worker)
    with missed_nights(site, catch_up, timedelta(minutes=minutes)):
        site.machine.work("biasgrid-nights")
        runs = wait_for_nights(site, before, len(expected))
    assert [run["state_name"] for run in runs] == expected, [run["state"]["message"] for run in runs]
    over = [run["end_time"] for run in runs if run["state_name"] == "Completed"]
    assert over == sorted(over)


def test_nights_of_a_paused_pool_are_caught_up_without_an_alarm_when_it_is_resumed(site):
    before, alarms = {run["id"] for run in site.server.flow_runs("nightly")}, len(site.alarms)
    site.server.ask("/work_pools/biasgrid-nights", {"is_paused": True}, method="PATCH")
    with missed_nights(site, "latest", timedelta(minutes=2)):  # after the nights of the test before
        time.sleep(PAUSED_S)
        assert nights_since(site, before) == []
        site.server.ask("/work_pools/biasgrid-nights", {"is_paused": False}, method="PATCH")
        runs = wait_for_nights(site, before, 3)
    assert [run["state_name"] for run in runs] == ["Skipped", "Skipped", "Completed"]
    assert "1 of 1 requirements met" in runs[-1]["state"]["message"]
    assert len(site.alarms) == alarms


def nights_since(site: Site, before: set[str]) -> list[dict[str, Any]]:
    return [run for run in site.server.flow_runs("nightly") if run["id"] not in before]


def wait_for_nights(site: Site, before: set[str], least: int) -> list[dict[str, Any]]:
    """All nights since, when at least so many have ended and none is under way."""

    def ended() -> list[dict[str, Any]]:
        runs = nights_since(site, before)
        is_over = all(run["state_type"] in ("COMPLETED", "FAILED", "CRASHED") for run in runs)
        return runs if is_over and len(runs) >= least else []

    found: list[dict[str, Any]] = wait_until(ended, patience_s=NIGHT_S, every_s=0.5)
    return found


def test_nights_after_a_pause_of_their_deployment_come_one_at_a_time_though_they_last_longer_than_their_interval(
    site,
):
    before, alarms = {run["id"] for run in site.server.flow_runs("nightly")}, len(site.alarms)
    nightly = site.server.deployment("nightly/nightly")
    path = f"/deployments/{nightly['id']}"
    again = {"models": ["gateway/m1"], "catch_up": "latest"}
    site.server.ask(path, {"parameters": nightly["parameters"] | again}, method="PATCH")
    site.server.ask(f"{path}/pause_deployment", {})
    every = {"schedule": {"interval": INTERVAL_S}, "active": True}
    (made,) = site.server.ask(f"{path}/schedules", [every])
    time.sleep(PAUSED_S)
    assert nights_since(site, before) == []
    site.server.ask(f"{path}/resume_deployment", {})
    wait_until(lambda: len(nights_since(site, before)) > 3, patience_s=NIGHT_S, every_s=0.5)
    site.server.ask(f"{path}/schedules/{made['id']}", method="DELETE")
    runs = wait_for_nights(site, before, 4)
    assert {run["state_name"] for run in runs} <= {"Skipped", "Completed"}  # a fast machine skips none
    completed = [run for run in runs if run["state_name"] == "Completed"]
    assert all("none worse than the night before" in run["state"]["message"] for run in completed[1:])
    assert all(first["end_time"] <= then["start_time"] for first, then in pairwise(completed))
    assert len(site.alarms) == alarms
