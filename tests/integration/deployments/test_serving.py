"""`biasgrid serve`: what it declares, what it refuses, and that it serves and ends as one."""

import json
import re
import signal
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.deployments.__main__ import parse_limits
from biasgrid.deployments.serving import Service, _DatabaseWatch, deployment_declaration, find_problems, serve
from biasgrid.flows.runs.prepare import open_lake
from support.prefect_server import ask_api, migrated_home
from support.processes import BIASGRID, PATIENCE_S, clean_environment, free_port, wait_until


@pytest.fixture(autouse=True)
def _no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PREFECT_API_URL", raising=False)


@pytest.fixture
def port() -> int:
    return free_port()


def service(port: int, **changes: Any) -> Service:
    given = {"scenario": "starter", "cron": "30 1 * * 1-5", "timezone": "Europe/Madrid", "data": "/data"}
    return Service(**{**given, "port": port, **changes})


def test_the_night_that_is_declared_is_the_one_that_was_asked_for(port):
    settings = {"models": ["simulated/fair"], "max_cost": 5.0, "samples": 2}
    night = {"gate": "decided", "deadline": "6h", "confirm": False, "catch_up": "all", "bound": 3.0}
    asked = service(port, settings=settings, night=night)
    by_name = {one["name"]: one for one in deployment_declaration(asked)["deployments"]}
    on_demand = {"on-demand", "probe", "redteam", "interaction", "finetune"}
    assert by_name.keys() == {"nightly", "shard", "rebuild-warehouse", *on_demand}
    nightly = by_name["nightly"]
    (schedule,) = nightly["schedules"]
    assert (schedule["cron"], schedule["timezone"]) == ("30 1 * * 1-5", "Europe/Madrid")
    assert nightly["parameters"] == {"scenario": "starter", **night, **settings}
    assert by_name["on-demand"]["parameters"] == {"scenario": "starter", **settings}


def test_all_that_is_wrong_with_when_and_where_is_reported_at_once(port):
    with socket.create_server(("127.0.0.1", port)):
        found = find_problems(service(port, cron="at two", timezone="Europe/Atlantis", webhook_from="UNSET"))
    assert [mistake.where for mistake in found] == ["--cron", "--timezone", "--webhook-from", "--port"]
    assert "`at two`" in found[0].what
    assert "`Europe/Atlantis`" in found[1].what
    assert "`UNSET`" in found[2].what
    assert str(port) in found[3].what


def test_a_server_that_is_named_and_does_not_answer_is_a_mistake(port, monkeypatch):
    monkeypatch.setenv("PREFECT_API_URL", f"http://127.0.0.1:{port}/api")
    with pytest.raises(UserError, match=f"{port}/api does not answer"):
        serve(service(port), lambda _: None)


def test_a_workers_run_does_not_land_in_a_directory_that_goes_with_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BIASGRID_DATA", raising=False)
    monkeypatch.setenv("PREFECT__FLOW_RUN_ID", "01a200a0-e930-7af1-9a95-1f455aedf70f")
    with pytest.raises(UserError, match="`data` would lie in a directory that goes"):
        open_lake(None)
    assert not (tmp_path / "data").exists()
    assert open_lake(tmp_path / "data").root == tmp_path / "data"


@pytest.fixture
def serving(tmp_path: Path, port: int) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    environment = clean_environment(PREFECT_HOME=str(migrated_home(tmp_path / "home")))
    message = tmp_path / "said"
    words = ("--data", str(tmp_path / "data"), "--model", "simulated/fair", "--cron", "30 1 * * *")
    with message.open("w") as out:
        process = subprocess.Popen(
            [*BIASGRID, "serve", "--port", str(port), *words],
            env=environment,
            cwd=tmp_path,
            stdout=out,
            stderr=subprocess.STDOUT,
            text=True,
        )
    yield process, message
    if process.poll() is None:
        process.terminate()
        process.wait(PATIENCE_S)


def ask(port: int, path: str, body: Any = None) -> Any:
    return ask_api(f"http://127.0.0.1:{port}/api", path, body)


@pytest.mark.drill
def test_one_command_serves_a_schedule_a_night_and_the_ui_and_ends_as_one(serving, port, tmp_path):
    process, text = serving
    wait_until(lambda: "Ctrl-C stops it all" in text.read_text() or process.poll() is not None)
    assert process.poll() is None, text.read_text()
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/") as page:
        assert b"Prefect" in page.read()
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/ui-settings") as settings:
        assert json.load(settings)["api_url"] == "/api"
    scheduled = {"flow_runs": {"state": {"type": {"any_": ["SCHEDULED"]}}}}
    due = wait_until(lambda: ask(port, "/flow_runs/filter", scheduled))
    assert due[0]["auto_scheduled"]
    assert re.search(r"T01:30:00", due[0]["expected_start_time"])

    deployment = ask(port, "/deployments/name/nightly/nightly")
    begun = ask(port, f"/deployments/{deployment['id']}/create_flow_run", {})
    ended = wait_until(lambda: _ended_run(port, begun["id"]))
    assert ended["state_type"] == "COMPLETED", ended["state"]["message"]
    assert (tmp_path / "data" / "biasgrid.duckdb").exists()

    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE_S) == 143
    assert "biasgrid: interrupted by SIGTERM; all is stopped" in text.read_text()
    assert _ours(tmp_path) == []


def _ended_run(port: int, flow_run_id: str) -> Any:
    found = ask(port, f"/flow_runs/{flow_run_id}")
    return found if found["state_type"] in {"COMPLETED", "FAILED", "CRASHED"} else None


def _ours(folder: Path) -> list[str]:
    """Processes whose home is in this folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"PREFECT_HOME={folder}".encode() in path.read_bytes():
                found.append(path.parent.joinpath("cmdline").read_text())
        except OSError:
            continue
    return found


def test_a_locked_database_is_reported_once_with_the_remedy(tmp_path):
    log, reports = tmp_path / "server.log", list[str]()
    log.write_text("an earlier server: database is locked\n")
    watch = _DatabaseWatch(log, reports.append)
    watch()
    assert reports == []
    with log.open("a") as out:
        out.write("sqlite3.OperationalError: database is loc")
        out.flush()
        watch()
        out.write("ked\nsqlite3.OperationalError: database is locked\n")
    watch()
    watch()
    (report,) = reports
    assert "PREFECT_SERVER_DATABASE_CONNECTION_URL=postgresql+asyncpg://" in report


def test_only_a_server_of_its_own_without_a_database_is_on_sqlite(port, monkeypatch):
    assert service(port).is_on_sqlite
    monkeypatch.setenv("PREFECT_SERVER_DATABASE_CONNECTION_URL", "postgresql+asyncpg://prefect@db/prefect")
    assert not service(port).is_on_sqlite
    monkeypatch.delenv("PREFECT_SERVER_DATABASE_CONNECTION_URL")
    monkeypatch.setenv("PREFECT_API_URL", "https://prefect.example.org/api")
    assert not service(port).is_on_sqlite


def test_a_limit_of_a_provider_that_does_not_exist_is_refused(tmp_path, monkeypatch):
    models = {"models": {"openai/own": {"limits": {"concurrency": 2}}}}
    (tmp_path / "models.yaml").write_text(json.dumps(models))
    monkeypatch.setenv("BIASGRID_CATALOG", str(tmp_path))
    assert parse_limits(["openai=32", "openai/own=2"]) == {"openai": 32, "openai/own": 2}
    with pytest.raises(UserError, match=r"there is no provider `opnai`"):
        parse_limits(["opnai=32"])
