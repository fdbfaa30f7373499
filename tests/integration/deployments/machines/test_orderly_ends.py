"""The drill: workers are asked to end in the middle of a night, and nights are cancelled and pile up."""

import json
import signal
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
import yaml

from biasgrid.flows.scheduled.turns import run_id_of
from biasgrid.warehouse.storage.lake import Lake
from support.flows import provider_at, requirement, write_yaml
from support.http_server import Answer, address_of, listening
from support.paths import ROOT
from support.processes import wait_until

pytestmark = pytest.mark.drill
NIGHT_S = 240.0
LATENCY_MS, AT_ONCE = 1000, 4
AWAY_S = 20.0
"""For so long the database does not answer; a shard's last requests take a few seconds."""


def scenario(templates: int = 4) -> dict[str, Any]:
    return {
        "name": "drill",
        "scenario": {"models": ["gateway/m1"], "templates": templates, "seed": 7, "max_tokens": 60},
        "requirements": [requirement(name="sexism-alike", concern="sexism", communities="gender", tolerance=0.5)],
    }


class Site:
    """One machine with a catalog, a lake and the deployments on a server."""

    def __init__(self, server: Any, machine: Any, endpoint: Any, place: Any, webhook: str) -> None:
        self.server, self.endpoint = server, endpoint
        respondent = {
            "id": "m1",
            "description": "Fair.",
            "latency_ms": LATENCY_MS,
            "concerns": {"sexism": {"default": 0.02}},
        }
        endpoint.serve([respondent], place / "respondents")
        (place / "catalog").mkdir()
        gateway = provider_at(f"http://127.0.0.1:{endpoint.port}") | {"limits": {"concurrency": AT_ONCE}}
        write_yaml(place / "catalog" / "models.yaml", {"providers": {"gateway": gateway}})
        self.machine = machine(
            "orderly",
            BIASGRID_DATA=str(place / "lake"),
            BIASGRID_CATALOG=str(place / "catalog"),
            **server.environment,
        )
        self.machine.do("biasgrid.deployments", "--webhook-from", "ALARMS", ALARMS=webhook)
        file = self.machine.folder / "prefect.yaml"
        file.write_text(yaml.safe_dump(declaration()), encoding="utf-8")
        self.machine.do("prefect", "--no-prompt", "deploy", "--all", "--prefect-file", str(file))


def declaration() -> dict[str, Any]:
    declared: dict[str, Any] = yaml.safe_load((ROOT / "deployments" / "prefect.yaml").read_text(encoding="utf-8"))
    nightly = next(one for one in declared["deployments"] if one["name"] == "nightly")
    nightly["schedules"] = []
    nightly["parameters"] |= {"scenario": scenario(), "expectations": False, "pictures": False}
    return declared


@pytest.fixture(scope="module")
def alarms() -> list[str]:
    return []


@pytest.fixture(scope="module")
def site(server: Any, machine: Any, endpoint: Any, place: Any, alarms: list[str]) -> Iterator[Site]:
    def accept(_: BaseHTTPRequestHandler, body: bytes) -> Answer:
        alarms.append(json.loads(body)["subject"])
        return 204, {}, b""

    with listening(accept) as webhook:
        yield begin(Site(server, machine, endpoint, place, address_of(webhook)))


def begin(made: Site) -> Site:
    made.machine.work("biasgrid", "--limit", "1")
    made.machine.work("biasgrid-nights")
    return made


def states(site: Site, flow_run_id: str) -> list[str]:
    return [one["name"] for one in site.server.ask(f"/flow_run_states/?flow_run_id={flow_run_id}")]


def test_a_worker_that_is_asked_to_end_passes_its_shard_on(site):
    site.endpoint.asked.clear()
    worker = site.machine.processes[0]
    begun = site.server.start("nightly/nightly")
    wait_until(lambda: len(site.endpoint.asked) > 8, patience_s=120, every_s=0.2)
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(30) == 0
    site.machine.processes.remove(worker)
    site.machine.work("biasgrid", "--limit", "1")
    ended = site.server.wait_for_end(begun, NIGHT_S)
    assert ended["state_type"] == "COMPLETED", ended["state"]["message"]
    (shard,) = site.server.flow_runs("shard")
    assert states(site, shard["id"]).count("Interrupted") == 1
    assert set(Counter(site.endpoint.asked).values()) == {1}


def test_a_night_that_is_asked_to_end_goes_on_elsewhere(site):
    site.endpoint.asked.clear()
    (nights,) = [one for one in site.machine.processes if "biasgrid-nights" in one.args]
    begun = site.server.start("nightly/nightly")
    wait_until(lambda: len(site.endpoint.asked) > 8, patience_s=120, every_s=0.2)
    nights.send_signal(signal.SIGTERM)
    assert nights.wait(30) == 0
    site.machine.processes.remove(nights)
    site.machine.work("biasgrid-nights")
    ended = site.server.wait_for_end(begun, NIGHT_S)
    assert ended["state_type"] == "COMPLETED", ended["state"]["message"]
    assert states(site, begun).count("Interrupted") == 1
    assert set(Counter(site.endpoint.asked).values()) == {1}
    assert len(site.server.flow_runs("shard")) == 2


def test_a_night_that_is_cancelled_raises_one_alarm_for_it(site, alarms):
    site.endpoint.asked.clear()
    begun = site.server.start("nightly/nightly")
    wait_until(lambda: len(site.endpoint.asked) > 8, patience_s=120, every_s=0.2)
    site.server.ask(f"/flow_runs/{begun}/set_state", {"state": {"type": "CANCELLING"}})
    ended = site.server.wait_for_end(begun, NIGHT_S)
    (shard,) = [
        run for run in site.server.flow_runs("shard") if set(ended["tags"]) & {*run["tags"]} - {"biasgrid"}
    ][-1:]
    site.server.wait_for_end(shard["id"], 60)
    assert states(site, begun)[-2:] == ["Cancelling", "Cancelled"]
    assert states(site, shard["id"])[-2:] == ["Cancelling", "Cancelled"]
    wait_until(lambda: alarms, patience_s=60, every_s=0.5)
    time.sleep(10)
    assert alarms == [f"biasgrid broken: {ended['parameters']['scenario']}: the night ended as Cancelled"]


def test_a_database_that_is_away_at_a_shards_end_fails_nothing(site, place, postgres):
    if postgres is None:
        pytest.skip("PostgreSQL is not on this machine (install Debian's postgresql)")
    site.endpoint.asked.clear()
    begun = site.server.start("nightly/nightly")
    wait_until(lambda: len(site.endpoint.asked) > 8, patience_s=120, every_s=0.2)
    run_id = run_id_of(site.server.ask(f"/flow_runs/{begun}")["tags"])
    planned = Lake(place / "lake").read("cases", run_id).height
    wait_until(lambda: len(site.endpoint.asked) > planned - AT_ONCE, patience_s=120, every_s=0.1)
    postgres.stop()
    time.sleep(AWAY_S)
    postgres.start()
    ended = site.server.wait_for_end(begun, NIGHT_S)
    assert ended["state_type"] == "COMPLETED", ended["state"]["message"]
    shards = [run for run in site.server.flow_runs("shard") if f"run:{run_id}" in run["tags"]]
    assert [run["state_name"] for run in shards] == ["Completed"]
    assert not {"Failed", "Crashed"} & {*states(site, shards[0]["id"])}
    assert set(Counter(site.endpoint.asked).values()) == {1}


def miss_nights(site: Site, catch_up: str, age: timedelta) -> Any:
    """Three nights half an hour apart, the last one of this age, the next one minutes away; their schedule."""
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
    return f"{path}/schedules/{made['id']}"


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
        worker.send_signal(signal.SIGTERM)
        worker.wait(30)
        site.machine.processes.remove(worker)
    schedule = miss_nights(site, catch_up, timedelta(minutes=minutes))
    site.machine.work("biasgrid-nights")

    def ended() -> Any:
        runs = [run for run in site.server.flow_runs("nightly") if run["id"] not in before]
        done = [run for run in runs if run["state_type"] in ("COMPLETED", "FAILED", "CRASHED")]
        return done if len(done) == len(expected) else None

    runs = wait_until(ended, patience_s=3 * NIGHT_S, every_s=0.5)
    site.server.ask(schedule, method="DELETE")
    assert [run["state_name"] for run in runs] == expected, [run["state"]["message"] for run in runs]
    over = [run["end_time"] for run in runs if run["state_name"] == "Completed"]
    assert over == sorted(over)
