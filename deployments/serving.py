"""Serves on one machine: Prefect's server, workers, and a nightly scenario."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml
from prefect.client.schemas.schedules import CronSchedule
from pydantic import ValidationError

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.deployments.alarms import webhook_address
from biasgrid.deployments.processes import (
    GRACE_S,
    Claim,
    Claimed,
    Process,
    end_in_order,
    hold_claim,
    kill_all,
    start_process,
    wait_for_first_end,
)
from biasgrid.deployments.work_pools import NIGHTS, SHARDS
from biasgrid.flows.operations.interruption import interruption

LEASES = {"PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect.server.concurrency.lease_storage.filesystem"}
"""Stores leases on disk: by default a restarted server forgets holders of limits, and never frees their slots."""
UI = {"PREFECT_UI_API_URL": "/api"}
"""Where the UI finds its server: at the address of its pages, whatever its port and the name of this machine."""
START_S = 120.0
"""Seconds for the server to start, including creation of its database."""
STOP_S = 240.0
"""Seconds for the nightly run, its shards and the server to end in order."""
SIDE_BY_SIDE = 2
"""Models asked at once that SQLite carries."""
LOCKED = b"database is locked"
DATABASES = ("PREFECT_SERVER_DATABASE_CONNECTION_URL", "PREFECT_API_DATABASE_CONNECTION_URL")
ON_POSTGRESQL = (
    "put Prefect's database on PostgreSQL: "
    f"export {DATABASES[0]}=postgresql+asyncpg://user:password@host/prefect, then serve again"
)
Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Service:
    """The scenario to serve, every night and on demand."""

    scenario: str
    """An absolute path, or the name of a shipped scenario."""
    cron: str
    timezone: str
    data: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Overrides of the scenario's settings, by the names of the flows' parameters."""
    night: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of the nightly flow alone: gate, deadline, whether to confirm and what is caught up."""
    host: str = "127.0.0.1"
    port: int = 4200
    at_once: int = 2
    """Number of shards in parallel on this machine."""
    metrics_port: int | None = None
    """Port of Prometheus' metrics, if any."""
    webhook_from: str | None = None
    """Environment variable with the address for notifications."""

    @property
    def address(self) -> str:
        """URL of Prefect's API: as configured, else that of the local server."""
        return os.environ.get("PREFECT_API_URL") or f"http://{self.host}:{self.port}/api"

    @property
    def has_own_server(self) -> bool:
        return not os.environ.get("PREFECT_API_URL")

    @property
    def is_on_sqlite(self) -> bool:
        return self.has_own_server and not any(os.environ.get(name) for name in DATABASES)

    @property
    def logs(self) -> Path:
        home = os.environ.get("PREFECT_HOME") or "~/.prefect"
        return Path(home).expanduser() / "biasgrid"

    @property
    def metrics(self) -> Path:
        return self.logs / "metrics"


def find_problems(service: Service) -> list[Problem]:
    """Errors in the schedule or the settings of a service."""
    found = [*_time_problems(service)]
    try:
        if service.webhook_from:
            webhook_address(service.webhook_from)
    except UserError as mistaken:
        found += mistaken.mistakes
    if service.has_own_server and _is_taken(service.host, service.port):
        what = f"port {service.port} of {service.host} is taken"
        remedy = "name another, or the server that is there: PREFECT_API_URL=http://…/api"
        found.append(Problem(what, "--port", remedy))
    if service.metrics_port and _is_taken(service.host, service.metrics_port):
        what = f"port {service.metrics_port} of {service.host} is taken"
        found.append(Problem(what, "--metrics-port", "name another"))
    return found


def _time_problems(service: Service) -> Iterator[Problem]:
    """Errors in the time, as Prefect parses schedules."""
    try:
        CronSchedule(cron=service.cron, timezone="UTC")
    except ValidationError:
        remedy = "write five fields, such as `0 2 * * *` for every night at two"
        yield Problem(f"`{service.cron}` is no cron schedule", "--cron", remedy)
    try:
        CronSchedule(cron="0 2 * * *", timezone=service.timezone)
    except ValidationError:
        what = f"`{service.timezone}` is no time zone"
        yield Problem(what, "--timezone", "name one such as `Europe/Madrid` or `UTC`")


def serve(service: Service, report: Report) -> None:
    """Serves until interrupted. Raises UserError if it cannot start, `Ended` if a process ends by itself."""
    if found := find_problems(service):
        raise UserError(found)
    os.environ.setdefault("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
    processes: list[Process] = []
    stopping = threading.Event()
    is_ours = service.has_own_server  # until this process, too, is pointed to it
    watch = _DatabaseWatch(service.logs / "server.log", report) if service.is_on_sqlite else None
    if watch and service.at_once > SIDE_BY_SIDE:
        report(f"warning: SQLite does not carry {service.at_once} models side by side: {ON_POSTGRESQL}")

    def stop() -> None:
        stopping.set()
        report("stopping: what is in flight lands first; Ctrl-C once more ends everything at once")

    with (
        interruption.stoppable(stop, lambda: kill_all(processes), STOP_S),
        _alone(service) as claim,
        end_in_order(processes),
        _pointed(service),
        _measured(service),
    ):
        if is_ours:
            report("starting Prefect's server …")
            processes.append(_server(service, claim))
        for start in _starts(service, claim, processes, report, stopping):
            if stopping.is_set():
                return
            start()
        if gone := wait_for_first_end(processes, stopping, watch or (lambda: None)):
            raise Ended(gone)


class _DatabaseWatch:
    """Warns once when the server's log shows that its database was locked."""

    def __init__(self, log: Path, report: Report) -> None:
        self._log, self._report = log, report
        self._read = log.stat().st_size if log.exists() else 0  # what earlier servers wrote

    def __call__(self) -> None:
        if self._read < 0 or not self._log.exists():
            return
        with self._log.open("rb") as log:
            log.seek(self._read)
            text = log.read()
        self._read += max(len(text) - len(LOCKED), 0)  # a line may be half written
        if LOCKED in text:
            self._read = -1
            self._report(f"warning: Prefect's database was locked, SQLite is overloaded: {ON_POSTGRESQL}")


def _starts(
    service: Service, claim: Claim, processes: list[Process], report: Report, stopping: threading.Event
) -> Iterator[Callable[[], object]]:
    """Steps that start the service, in order, once its server starts."""
    yield lambda: _wait_until_healthy(service, processes, stopping)
    yield lambda: _deploy(service)
    yield lambda: processes.append(_worker(service, claim, SHARDS, service.at_once))
    # ends first: nightly runs go back into their pool
    yield lambda: processes.append(_worker(service, claim, NIGHTS))
    yield lambda: report(_welcome(service))


@contextmanager
def _alone(service: Service) -> Iterator[Claim]:
    """Raises UserError if another process serves from the same `PREFECT_HOME`, or left processes there."""
    path = service.logs / "serving.lock"
    try:
        with hold_claim(path) as claim:
            yield claim
    except Claimed as other:
        what = "another `biasgrid serve` uses this PREFECT_HOME, or was killed and left its processes behind"
        groups = " ".join(f"-{group}" for group in other.groups)
        remedy = f"stop it; what was left behind ends by `kill -- {groups}`" if groups else "stop it"
        raise UserError(Problem(what, str(path), remedy)) from None


class Ended(UserError):
    """A process of the service has ended by itself."""

    def __init__(self, process: Process) -> None:
        what = f"{process.name} ended by itself (exit code {process.handle.returncode}), so the rest was stopped"
        super().__init__(Problem(what, str(process.log), "see its last lines, then serve again"))


@contextmanager
def _pointed(service: Service) -> Iterator[None]:
    """Points this process and its children to the same server, with its authentication."""
    wanted = {"PREFECT_API_URL": service.address}
    if secret := os.environ.get("PREFECT_SERVER_API_AUTH_STRING"):
        wanted["PREFECT_API_AUTH_STRING"] = os.environ.get("PREFECT_API_AUTH_STRING") or secret
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


@contextmanager
def _measured(service: Service) -> Iterator[None]:
    """Serves the metrics of all runs, where a port is named."""
    if service.metrics_port is None:
        yield
        return
    from biasgrid.flows.telemetry.metrics_server import serve_metrics

    with serve_metrics(service.metrics, service.host, service.metrics_port):
        yield


def _server(service: Service, claim: Claim) -> Process:
    arguments = ["prefect", "server", "start", "--host", service.host, "--port", str(service.port)]
    log, environment = service.logs / "server.log", {**LEASES, **UI, **os.environ}
    return start_process("Prefect's server", arguments, log, environment, claim)


def _worker(service: Service, claim: Claim, pool: str, at_once: int | None = None) -> Process:
    arguments = ["biasgrid.deployments.worker", "--pool", pool, "--name", f"{pool}-here", "--grace", str(GRACE_S)]
    if at_once:
        arguments += ["--limit", str(at_once)]
    log = service.logs / f"worker-{pool}.log"
    environment = {"BIASGRID_DATA": service.data}
    if service.metrics_port:
        environment |= {"BIASGRID_METRICS": str(service.metrics)}
    return start_process(f"the worker of {pool}", arguments, log, environment, claim)


def _wait_until_healthy(service: Service, processes: list[Process], stopping: threading.Event) -> None:
    deadline = time.monotonic() + START_S
    while not stopping.is_set() and not _is_healthy(service.address):
        if gone := next((process for process in processes if process.is_gone), None):
            raise Ended(gone)
        if not processes or time.monotonic() > deadline:
            what = f"Prefect's server at {service.address} does not answer"
            raise UserError(Problem(what, "PREFECT_API_URL", "start it, or unset this to serve one here"))
        time.sleep(0.3)


def _is_healthy(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/health", timeout=5) as answer:  # noqa: S310 - http(s), as configured
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError):
        return False


def _is_taken(host: str, port: int) -> bool:
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((host, port))
        except OSError:
            return True
    return False


def deployment_declaration(service: Service) -> dict[str, Any]:
    """The shipped deployments, with this scenario every night."""
    path = files("biasgrid.deployments") / "prefect.yaml"
    declared: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    nightly, on_demand = (
        next(one for one in declared["deployments"] if one["name"] == name) for name in ("nightly", "on-demand")
    )
    nightly["schedules"] = [{"cron": service.cron, "timezone": service.timezone, "slug": "every-night"}]
    nightly["parameters"] |= {"scenario": service.scenario, **service.night, **service.settings}
    on_demand["parameters"] |= {"scenario": service.scenario, **service.settings}
    return declared


def _deploy(service: Service) -> None:
    """Runs in child processes, because this process has read Prefect's settings before its server was started."""
    webhook = ["--webhook-from", service.webhook_from] if service.webhook_from else []
    _run_module(["biasgrid.deployments", *webhook])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "prefect.yaml"
        file.write_text(yaml.safe_dump(deployment_declaration(service), sort_keys=False), encoding="utf-8")
        _run_module(["prefect", "--no-prompt", "deploy", "--all", "--prefect-file", str(file)])


def _run_module(arguments: list[str]) -> None:
    call = [sys.executable, "-P", "-m", *arguments]
    done = subprocess.run(call, check=False, capture_output=True, text=True)  # noqa: S603 - our own words
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-5:]
        raise UserError(Problem("the deployments could not be made", remedy="\n".join(last)))


def _welcome(service: Service) -> str:
    shown = {name: ", ".join(one) if isinstance(one, list) else one for name, one in service.settings.items()}
    settings = "".join(f", {name} {value}" for name, value in shown.items())
    at = f"http://{service.host}:{service.metrics_port}/metrics"
    metrics = f"\nmetrics      {at}" if service.metrics_port else ""
    return f"""\
Prefect UI   {service.address.removesuffix("/api")}
every night  {service.cron} ({service.timezone}): {service.scenario}{settings}
now          PREFECT_API_URL={service.address} prefect deployment run nightly/nightly
data         {service.data}{metrics}
logs         {service.logs}
Ctrl-C stops it all; what has landed stays, and a night that was interrupted can be resumed"""
