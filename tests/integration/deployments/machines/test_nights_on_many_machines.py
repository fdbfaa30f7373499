"""The drill: a night on real servers and two machines, with one lost in its middle; then nights by the
clock: the second finds that a respondent became worse."""

import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest
import yaml

from biasgrid.flows.runs.prepare import existing_lake
from biasgrid.warehouse.build.build import query
from biasgrid.warehouse.storage.lake import Lake
from support.flows import provider_at, requirement, write_yaml
from support.http_server import Answer, address_of, listening
from support.paths import ROOT
from support.processes import wait_until

pytestmark = pytest.mark.drill

MODELS = tuple(f"gateway/m{number}" for number in range(1, 9))
SECRET = "drill:a-secret-of-the-server"
KEY = "sk-a-key-that-nobody-may-find"
LATENCY_MS, AT_ONCE = 200, 4
NIGHT_S = 900.0
MISSED_S = 60
"""Without a heartbeat for so long a shard is lost; hardly less is sensible: Prefect sends one every 30."""
UNSENT_S = 3.0
"""What a machine had of journals that storage had not: they are sent every two seconds."""
DROP = 0.5


def respondents(drop: float = 0.0) -> list[dict[str, Any]]:
    """Eight of equal size and known bias; the first may have become worse in one concern."""
    return [
        {
            "id": model.partition("/")[2],
            "description": "Of known bias.",
            "latency_ms": LATENCY_MS,
            "failures": {"default": 0.02},
            "concerns": {"sexism": {"default": 0.02 + (drop if model == MODELS[0] else 0.0)}},
        }
        for model in MODELS
    ]


def scenario(models: tuple[str, ...] = MODELS, templates: int = 8) -> dict[str, Any]:
    asked = {"sexism": "gender", "racism": "skin_color"}
    return {
        "name": "drill",
        "scenario": {"models": list(models), "templates": templates, "seed": 7, "max_tokens": 60},
        "requirements": [
            requirement(name=f"{concern}-alike", concern=concern, tolerance=0.5, communities=communities)
            for concern, communities in asked.items()
        ],
    }


@dataclass
class Site:
    """Everything that takes part."""

    server: Any
    endpoint: Any
    machine: Callable[..., Any]
    place: Path
    storage: Any
    received: list[str]
    """Notices at the automation's webhook."""

    def prepare(self, name: str) -> Any:
        """A machine that may ask the models and write the lake."""
        return self.machine(
            name,
            **self.storage.environment(self.place / name),
            BIASGRID_CATALOG=str(self.place / "catalog"),
            GATEWAY_KEY=KEY,
            **self.server.environment,
        )

    @property
    def lake(self) -> Lake:
        return existing_lake(self.storage.address)


@pytest.fixture(scope="module")
def webhook() -> Iterator[tuple[str, list[str]]]:
    received: list[str] = []

    def accept(_: BaseHTTPRequestHandler, body: bytes) -> Answer:
        received.append(body.decode())
        return 204, {}, b""

    with listening(accept) as server:
        yield f"{address_of(server)}/alarms", received


@pytest.fixture(scope="module")
def site(
    server: Any, endpoint: Any, machine: Any, place: Path, storage: Any, webhook: tuple[str, list[str]]
) -> Site:
    """Servers, and what an operator sets up on them."""
    address, received = webhook
    endpoint.serve(respondents(), place / "respondents")
    (place / "catalog").mkdir()
    gateway = provider_at(f"http://127.0.0.1:{endpoint.port}", key_env=["GATEWAY_KEY"])
    own_limits = {model: {"limits": {"concurrency": AT_ONCE}} for model in MODELS}
    write_yaml(place / "catalog" / "models.yaml", {"providers": {"gateway": gateway}, "models": own_limits})
    made = Site(server, endpoint, machine, place, storage, received)
    operator = made.prepare("operator")
    operator.do(
        "biasgrid.deployments", "--webhook-from", "ALARMS", "--heartbeat-missed", str(MISSED_S), ALARMS=address
    )
    declared = operator.folder / "prefect.yaml"
    result = yaml.safe_load((ROOT / "deployments" / "prefect.yaml").read_text(encoding="utf-8"))
    nightly = next(one for one in result["deployments"] if one["name"] == "nightly")
    nightly["schedules"] = []
    nightly["parameters"] |= {"scenario": scenario()}
    declared.write_text(yaml.safe_dump(result), encoding="utf-8")
    operator.do("prefect", "--no-prompt", "deploy", "--all", "--prefect-file", str(declared))
    operator.work("biasgrid-nights")
    return made


@dataclass(frozen=True)
class Night:
    flow_run: dict[str, Any]
    run_id: str
    lost: Any
    kept: Any
    asked: Counter[tuple[str, str]]


def run_of(flow_run: dict[str, Any]) -> str:
    return str(next(tag for tag in flow_run["tags"] if tag.startswith("run:")).partition(":")[2])


@pytest.fixture(scope="module")
def night(site: Site) -> Night:
    """Eight models over two machines that take one at a time each; one is lost when it has asked a while."""
    kept, lost = site.prepare("kept"), site.prepare("lost")
    kept.work("biasgrid", "--limit", "1")
    lost.work("biasgrid", "--limit", "1")
    begun = site.server.start("nightly/nightly")
    wait_until(lambda: "shard" in lost.log and len(set(site.endpoint.asked)) > 60, every_s=0.2)
    mine = wait_until(lambda: [model for model in MODELS if f"shard · {model[8:]}'" in lost.log], every_s=0.2)[-1]
    wait_until(lambda: sum(model == mine[8:] for model, _ in site.endpoint.asked) > 20, every_s=0.2)
    lost.kill()
    ended = site.server.wait_for_end(begun, NIGHT_S)
    return Night(ended, run_of(ended), lost, kept, Counter(site.endpoint.asked))


def test_the_server_runs_on_postgresql(server):
    if server.database is None:
        pytest.skip("PostgreSQL is not on this machine: the drill ran on SQLite (install Debian's postgresql)")
    assert "asyncpg" in server.database


def test_without_the_servers_secret_nothing_is_answered(server):
    for secret in (None, "drill:another"):
        with pytest.raises(HTTPError) as refused:
            server.ask("/flow_runs/count", {}, secret=secret)
        with refused.value as answer:
            assert answer.code == 401


def test_a_worker_with_a_wrong_secret_is_refused(site):
    stranger = site.prepare("stranger")
    process = stranger.work("biasgrid", PREFECT_API_AUTH_STRING="drill:another")
    assert process.wait(60) != 0
    assert "401" in stranger.log


def test_a_night_that_loses_a_machine_completes(night):
    assert (night.flow_run["state_type"], night.flow_run["state"]["message"]) == (
        "COMPLETED",
        night.flow_run["state"]["message"],
    )


def test_its_shards_ran_on_both_machines_and_the_lost_one_was_taken_over(night, site):
    runs = site.server.flow_runs("shard")
    assert Counter(run["state_type"] for run in runs) == {"COMPLETED": len(MODELS), "CRASHED": 1}
    taken_over = next(run for run in runs if run["state_type"] == "CRASHED")
    again = [run for run in runs if run["name"] == taken_over["name"]]
    assert [run["state_type"] for run in again] == ["CRASHED", "COMPLETED"]
    assert "shard" in night.kept.log


def test_nothing_is_asked_twice_but_what_was_in_flight_or_not_sent_to_storage_yet(night):
    twice = sum(times - 1 for times in night.asked.values())
    assert twice <= AT_ONCE + UNSENT_S * AT_ONCE * 1000 / LATENCY_MS


def test_nothing_is_lost(night, site):
    cases, replies = (site.lake.read(table, night.run_id) for table in ("cases", "responses"))
    assert replies["text"].null_count() == 0
    assert sorted(replies["case_id"]) == sorted(cases["case_id"])
    assert len(night.asked) == len({(row["model"], row["request_key"]) for row in cases.to_dicts()})


def test_its_findings_are_those_of_one_machine_alone(night, site, tmp_path):
    alone = site.machine(
        "alone", BIASGRID_DATA=str(tmp_path), BIASGRID_CATALOG=str(site.place / "catalog"), GATEWAY_KEY=KEY
    )
    file = tmp_path / "drill.yaml"
    file.write_text(yaml.safe_dump(scenario()), encoding="utf-8")
    done = alone.biasgrid("run", str(file), "--yes")
    assert done.returncode in (0, 1), done.stderr
    own, shared = findings(Lake(tmp_path)), findings(site.lake)
    assert own == shared
    assert len(own) == 2 * len(MODELS)


def findings(lake: Lake) -> list[dict[str, Any]]:
    result = "* exclude (run_id, evaluation_id, started_at, judged_at)"
    return query(lake, f"select {result} from marts.requirement_findings order by all").to_dicts()


@dataclass(frozen=True)
class Clock:
    """The nightly deployment's schedule: strikes every minute, while it is wanted."""

    server: Any
    deployment_id: str
    schedule_id: str

    def turn(self, *, on: bool) -> None:
        path = f"/deployments/{self.deployment_id}/schedules/{self.schedule_id}"
        self.server.ask(path, {"active": on}, method="PATCH")


@pytest.fixture
def clock(night: Night, site: Site) -> Clock:
    deployment_id = site.server.deployment("nightly/nightly")["id"]
    fewer = site.server.deployment("nightly/nightly")["parameters"] | {"scenario": scenario(MODELS[:1])}
    site.server.ask(f"/deployments/{deployment_id}", {"parameters": fewer}, method="PATCH")
    every_minute = {"schedule": {"cron": "* * * * *", "timezone": "Europe/Madrid"}, "active": False}
    (made,) = site.server.ask(f"/deployments/{deployment_id}/schedules", [every_minute])
    return Clock(site.server, deployment_id, made["id"])


def next_night(clock: Clock) -> dict[str, Any]:
    before = len(clock.server.flow_runs("nightly"))
    clock.turn(on=True)
    begun = wait_until(lambda: clock.server.flow_runs("nightly")[before:], every_s=0.2)
    clock.turn(on=False)
    ended: dict[str, Any] = clock.server.wait_for_end(begun[0]["id"], NIGHT_S)
    return ended


def test_nights_come_by_the_clock_and_report_what_became_worse(clock, night, site):
    first = next_night(clock)
    assert (first["auto_scheduled"], first["state_type"]) == (True, "COMPLETED"), first["state"]["message"]
    assert "none worse than the night before" in first["state"]["message"]
    assert site.received == []

    site.endpoint.serve(respondents(DROP), site.place / "respondents")
    second = next_night(clock)
    assert (second["auto_scheduled"], second["state_name"]) == (True, "Regression"), second["state"]["message"]
    assert f"`sexism-alike` of {MODELS[0]}" in second["state"]["message"]
    assert "racism-alike" not in second["state"]["message"]
    result = wait_until(lambda: site.received, every_s=0.2)
    assert "sexism-alike" in result[0]

    worse = query(
        site.lake, "select model, requirement, earlier_run_id from marts.regressions where finding = 'worse'"
    ).rows()
    assert worse == [(MODELS[0], "sexism-alike", run_of(first))]


def test_no_secret_is_written_anywhere(night, clock, site, server):
    """Asked of what is there when all nights are over: logs, Prefect's API and database, the lake."""
    secrets = (
        KEY,
        SECRET,
        SECRET.partition(":")[2],
        site.storage.environment(site.place)["AWS_SECRET_ACCESS_KEY"],
    )
    logs = "".join(path.read_text(errors="replace") for path in site.place.rglob("*.log"))
    result = "".join(
        str(server.ask(f"/{kind}/filter", {})) for kind in ("logs", "flow_runs", "artifacts", "deployments")
    )
    mirrored = [path for path in site.lake.root.rglob("*") if path.is_file()]
    stored = b"".join(path.read_bytes() for path in mirrored)
    assert len(logs) > 1000
    assert len(result) > 1000
    for secret in secrets:
        assert secret not in logs
        assert secret not in result
        assert secret.encode() not in stored
        assert secret not in dump(server)


def dump(server: Any) -> str:
    """All of Prefect's database, as SQL; nothing where that is SQLite, whose file is looked at with the logs."""
    if server.database is None:
        return ""
    url = server.database.replace("+asyncpg", "")
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return subprocess.check_output([programs[-1] / "pg_dump", url], text=True)
