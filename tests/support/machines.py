"""Real servers on loopback: PostgreSQL, Prefect with authentication; and machines that have biasgrid installed
from its wheel, each in an environment of its own."""

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
import urllib.error
import urllib.request
import venv
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from starlette.responses import JSONResponse

from biasgrid.catalogs.loading.catalog import load_catalog
from biasgrid.deployments.serving import LEASES
from biasgrid.tasks.connectors.simulated.server.app import RunningServer, build_app
from support.paths import ROOT
from support.prefect_server import ask_api, prefect_server
from support.processes import clean_environment, free_port, kill_group, wait_until

SECRET = "drill:a-secret-of-the-server"


def bare_environment(**more: str) -> dict[str, str]:
    """What a machine of its own would have: nothing of ours."""
    return clean_environment("OPENAI_", "AWS_", "PYTHON", PREFECT_SERVER_ANALYTICS_ENABLED="false", **more)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("machines")


@dataclass(frozen=True)
class Storage:
    """A bucket on an S3-compatible server, and where this process mirrors it."""

    server: Any
    address: str

    def environment(self, folder: Path) -> dict[str, str]:
        """Of a machine that keeps its mirror in `folder`."""
        found: dict[str, str] = self.server.environment(folder / "mirrors")
        return {**found, "BIASGRID_DATA": self.address}


@pytest.fixture(scope="module")
def storage(_s3: Any, place: Path) -> Iterator[Storage]:
    """An empty bucket; this process may read it as the machines do."""
    urllib.request.urlopen(urllib.request.Request(f"{_s3.url}/moto-api/reset", method="POST")).close()
    urllib.request.urlopen(urllib.request.Request(f"{_s3.url}/lakes", method="PUT")).close()
    made = Storage(_s3, "s3://lakes/drill")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in made.environment(place).items():
            patch.setenv(name, value)
        yield made


@dataclass(frozen=True)
class Postgres:
    """A PostgreSQL server. It refuses to run as root: there it runs as the user that its package makes."""

    programs: Path
    folder: Path
    port: int

    @property
    def url(self) -> str:
        return f"postgresql+asyncpg://prefect@127.0.0.1:{self.port}/prefect"

    def create(self) -> None:
        self._do("initdb", "-D", self.folder / "data", "-U", "prefect", "-A", "trust", "-E", "UTF8")
        self.start()
        self._do("createdb", "-h", "127.0.0.1", "-p", self.port, "-U", "prefect", "prefect")

    def start(self) -> None:
        settings = f"-p {self.port} -h 127.0.0.1 -k {self.folder} -F"
        self._do("pg_ctl", "-D", self.folder / "data", "-o", settings, "-l", self.folder / "log", "-w", "start")

    def stop(self) -> None:
        self._do("pg_ctl", "-D", self.folder / "data", "-m", "immediate", "-w", "stop")

    def _do(self, program: str, *arguments: object) -> None:
        command = [*as_postgres(), str(self.programs / program), *map(str, arguments)]
        subprocess.run(command, check=True, capture_output=True, cwd="/tmp")


def as_postgres() -> list[str]:
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []


@contextmanager
def postgres_server() -> Iterator[Postgres | None]:
    """A PostgreSQL server with an empty database; None where this machine has none."""
    found = next((path for path in sorted(Path("/usr/lib/postgresql").glob("*/bin")) if path.is_dir()), None)
    initdb = shutil.which("initdb", path=str(found) if found else None)
    if initdb is None:
        yield None
        return
    made = subprocess.check_output([*as_postgres(), "mktemp", "-d"], text=True, cwd="/tmp").strip()
    running = Postgres(Path(initdb).parent, Path(made), free_port())
    try:
        running.create()
        yield running
    finally:
        running.stop()
        shutil.rmtree(made, ignore_errors=True)


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres | None]:
    with postgres_server() as running:
        yield running


@dataclass
class Server:
    """Prefect's server, which answers who knows its secret."""

    home: Path
    database: str | None
    port: int = field(default_factory=free_port)
    running: ExitStack = field(default_factory=ExitStack)

    def serve(self) -> None:
        environment = bare_environment(
            PREFECT_SERVER_API_AUTH_STRING=SECRET,
            PREFECT_SERVER_EVENTS_PROACTIVE_GRANULARITY="PT5S",
            PREFECT_SERVER_SERVICES_SCHEDULER_LOOP_SECONDS="5",
            **LEASES,
            **({"PREFECT_API_DATABASE_CONNECTION_URL": self.database} if self.database else {}),
        )
        self.process = self.running.enter_context(prefect_server(self.home, environment, self.port)).process

    def restart(self, number: signal.Signals) -> None:
        """Ends it by a signal, and starts it again at the same address."""
        self.process.send_signal(number)
        self.process.wait(60)
        self.running.close()
        self.serve()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/api"

    @property
    def environment(self) -> dict[str, str]:
        return {"PREFECT_API_URL": self.url, "PREFECT_API_AUTH_STRING": SECRET}

    def ask(self, path: str, body: Any = None, secret: str | None = SECRET, method: str | None = None) -> Any:
        return ask_api(self.url, path, body, secret, method)

    def flow_runs(self, flow: str) -> list[dict[str, Any]]:
        """The runs of a flow, oldest first, those that are only scheduled for later left out."""
        named = {"flows": {"name": {"any_": [flow]}}, "limit": 200, "sort": "EXPECTED_START_TIME_ASC"}
        found: list[dict[str, Any]] = self.ask("/flow_runs/filter", named)
        return [run for run in found if run["state_type"] != "SCHEDULED"]

    def deployment(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.ask(f"/deployments/name/{name}")
        return found

    def start(self, deployment: str, **parameters: Any) -> str:
        """Triggers a deployment; the flow run's id."""
        made = self.ask(
            f"/deployments/{self.deployment(deployment)['id']}/create_flow_run", {"parameters": parameters}
        )
        return str(made["id"])

    def wait_for_end(self, flow_run_id: str, patience_s: float) -> dict[str, Any]:
        """A flow run when it has ended."""

        def ended_run() -> dict[str, Any] | None:
            run: dict[str, Any] = self.ask(f"/flow_runs/{flow_run_id}")
            return run if run["state_type"] in {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"} else None

        found: dict[str, Any] = wait_until(ended_run, patience_s=patience_s, every_s=0.2)
        return found


@pytest.fixture(scope="module")
def server(place: Path, postgres: Postgres | None) -> Iterator[Server]:
    """Prefect's server, on PostgreSQL where there is one."""
    made = Server(place / "server", postgres and postgres.url)
    with made.running:
        made.serve()
        yield made


@dataclass
class Machine:
    """An environment with biasgrid from its wheel, a working directory, and nothing of its neighbours'."""

    name: str
    folder: Path
    environment: dict[str, str]
    processes: list[subprocess.Popen[Any]] = field(default_factory=list)

    @property
    def python(self) -> Path:
        return self.folder / "environment" / "bin" / "python"

    @property
    def log(self) -> str:
        return "".join(path.read_text(errors="replace") for path in sorted(self.folder.glob("*.log")))

    def work(self, pool: str, *words: str, **more: str) -> subprocess.Popen[Any]:
        """Starts a worker of a pool."""
        name = f"{self.name}-{pool}"
        worker = ["-m", "biasgrid.deployments.worker", "--pool", pool, "--name", name, *words]
        with (self.folder / f"{pool}.log").open("ab") as log:
            process = subprocess.Popen(
                [self.python, *worker],
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**self.environment, **more},
                cwd=self.folder,
                start_new_session=True,
            )
        self.processes.append(process)
        return process

    def do(self, *words: str, check: bool = True, **more: str) -> subprocess.CompletedProcess[str]:
        """Runs a module to its end."""
        return self._finish("-m", *words, check=check, **more)

    def biasgrid(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Runs the command to its end."""
        return self._finish("-c", "from biasgrid.flows.cli.process import run; run()", *words, check=False)

    def _finish(self, *words: str, check: bool, **more: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [self.python, *words],
            env={**self.environment, **more},
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done

    def kill(self) -> None:
        while self.processes:
            kill_group(self.processes.pop())


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="session")
def installed(wheel: Path) -> Path:
    """The wheel's installed files, which each machine gets its own links to: installing takes seconds."""
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*install, "--target", wheel.parent / "own", wheel], check=True, capture_output=True)
    return wheel.parent / "own"


@pytest.fixture(scope="module")
def machine(place: Path, installed: Path) -> Iterator[Callable[..., Machine]]:
    """`machine(name, **environment)`. What others have written is shared from this environment by its path, which
    spares minutes; biasgrid itself is each machine's own, from the wheel."""
    made: list[Machine] = []

    def make(name: str, **environment: str) -> Machine:
        folder = place / name
        new = Machine(name, folder, bare_environment(PREFECT_HOME=str(folder / "prefect"), **environment))
        venv.create(folder / "environment", with_pip=False, symlinks=True)
        own = next((folder / "environment" / "lib").glob("python*/site-packages"))
        (own / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
        shutil.copytree(installed, own, copy_function=os.link, dirs_exist_ok=True)
        made.append(new)
        return new

    yield make
    for one in made:
        one.kill()


@dataclass
class Endpoint:
    """Respondents of known bias behind a provider's protocol; what they are asked is noted."""

    port: int
    asked: list[tuple[str, str]] = field(default_factory=list)
    """Model and prompt of each request."""
    last_asked: dict[tuple[str, str], float] = field(default_factory=dict)
    """When each was asked for the last time, in seconds of the system's clock."""
    refused: dict[str, int] = field(default_factory=dict)
    """Status with which the requests of a model are refused."""
    running: ExitStack = field(default_factory=ExitStack)

    def serve(self, respondents: list[dict[str, Any]], folder: Path) -> None:
        """In place of those before, at the same address."""
        self.running.close()
        (folder / "respondents").mkdir(parents=True, exist_ok=True)
        for one in respondents:
            (folder / "respondents" / f"{one['id']}.yaml").write_text(yaml.safe_dump(one), encoding="utf-8")
        app = build_app(load_catalog(overlay=folder), "fair", journal=folder / "requests.jsonl")
        app.add_middleware(_Noting, endpoint=self)
        self.running.enter_context(RunningServer(app, port=self.port))


class _Noting:
    def __init__(self, app: Any, endpoint: Endpoint) -> None:
        self.app, self.endpoint = app, endpoint

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        messages = [await receive()]
        while messages[-1].get("more_body"):
            messages.append(await receive())
        body = json.loads(b"".join(message.get("body", b"") for message in messages))
        asked = body["model"], body["messages"][-1]["content"]
        self.endpoint.asked.append(asked)
        self.endpoint.last_asked[asked] = time.time()
        if status := self.endpoint.refused.get(body["model"]):
            refusal = JSONResponse({"error": {"message": "Not for this account."}}, status)
            await refusal(scope, receive, send)
            return

        async def again() -> Any:
            return messages.pop(0) if messages else await receive()

        await self.app(scope, again, send)


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    made = Endpoint(free_port())
    yield made
    made.running.close()
