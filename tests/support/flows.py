"""Prefect with a server and a home of its own, respondents over loopback, and what landed, read back."""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import polars as pl
import pytest
import yaml
from starlette.applications import Starlette
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from biasgrid.catalogs.loading.catalog import load_catalog
from biasgrid.catalogs.schema.respondents import TRUTHS, Control
from biasgrid.tasks.connectors.simulated.server.app import RunningServer, build_app
from biasgrid.warehouse.storage.lake import Lake
from support.http_server import Answer, address_of, listening
from support.prefect_server import prefect_server as start_server
from support.prefect_server import send_pending_events
from support.processes import wait_until

HOME = tempfile.mkdtemp(prefix="prefect-home-")
os.environ["PREFECT_HOME"] = HOME  # Prefect reads it when it is first imported: before any test module
RECORDED_S = 300.0


class Canary:
    """Leaves a file when its pickle is loaded."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.trace,)


@pytest.fixture(scope="session", autouse=True)
def _own_home() -> Iterator[None]:
    yield
    shutil.rmtree(HOME, ignore_errors=True)


@pytest.fixture(scope="session", autouse=True)
def _no_forgotten_connections() -> Iterator[None]:
    """Prefect (3.8) asks the server for its default result storage with clients that it never closes: whatever
    test runs when they are collected would fail for it."""
    from prefect import results

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(results, "_read_server_default_result_storage_block_id", _default_storage)
        patch.setattr(results, "_aread_server_default_result_storage_block_id", _default_storage_awaited)
        yield


def _default_storage() -> UUID | None:
    from prefect.client.orchestration import get_client

    with suppress(httpx.HTTPError), get_client(sync_client=True) as client:
        return client.read_server_default_result_storage().default_result_storage_block_id
    return None


async def _default_storage_awaited() -> UUID | None:
    from prefect.client.orchestration import get_client

    with suppress(httpx.HTTPError):
        async with get_client() as client:
            return (await client.read_server_default_result_storage()).default_result_storage_block_id
    return None


@pytest.fixture(scope="session")
def prefect_server() -> Iterator[str]:
    """The API's address of a Prefect server that the tests of this process share: it takes seconds to start."""
    with start_server(Path(HOME)) as server:
        yield server.api
        send_pending_events()


@pytest.fixture(scope="module")
def prefect_api(prefect_server: str) -> Iterator[str]:
    """Flows of this module report to the server, as with `PREFECT_API_URL`."""
    from prefect.settings import PREFECT_API_URL, temporary_settings

    with pytest.MonkeyPatch.context() as patch, temporary_settings({PREFECT_API_URL: prefect_server}):
        patch.setenv("PREFECT_API_URL", prefect_server)
        yield prefect_server


@dataclass
class RecordingServer:
    """Every request that asks a model something, in the order of arrival."""

    base_url: str
    bodies: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    """Of every call, noted before it is answered."""
    journal: Any = None
    """What the simulated provider was asked, and in which batch."""

    def prompts(self, model: str | None = None) -> list[str]:
        """The last user message of each, of one model or of all."""
        asked = [body for body in self.bodies if model in (None, body.get("model"))]
        return [body["messages"][-1]["content"] for body in asked]


class _Recording:
    """ASGI middleware: notes the JSON that is posted."""

    def __init__(self, app: ASGIApp, recording: RecordingServer) -> None:
        self.app, self.recording = app, recording

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            self.recording.paths.append(scope["path"])
        if scope["type"] != "http" or (b"content-type", b"application/json") not in scope["headers"]:
            await self.app(scope, receive, send)
            return
        messages = [await receive()]
        while messages[-1].get("more_body"):
            messages.append(await receive())
        body = b"".join(message.get("body", b"") for message in messages)
        if body:
            self.recording.bodies.append(json.loads(body))

        async def again() -> Message:
            return messages.pop(0) if messages else await receive()

        await self.app(scope, again, send)


def provider_at(base_url: str, **more: Any) -> dict[str, Any]:
    """A provider of any model at an address, as `models.yaml` describes it."""
    return {"connector": "openai", "base_url": f"{base_url}/v1", "models": "any", **more}


Serve = Callable[..., RecordingServer]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts respondents on a free port: `serve(default, **app options)`."""
    with ExitStack() as running:

        def start(default: str = "fair", library: str = "shipped", overlay: Path | None = None) -> RecordingServer:
            app: Starlette = build_app(load_catalog(library, overlay), default)
            recording = RecordingServer("")
            app.add_middleware(_Recording, recording=recording)
            recording.journal = app.state.journal
            recording.base_url = running.enter_context(RunningServer(app)).base_url
            return recording

        yield start


def known_verdict(question: str) -> str | None:
    """The verdict that the control in a question to a judge has; None for other replies."""
    known = ((control, truth) for control in _controls() for truth in TRUTHS)
    found = (truth for control, truth in known if f"\n{control.reply(truth)}\nREPLY " in question)
    return next(found, None) if any(control.prompt in question for control in _controls()) else None


@cache
def _controls() -> list[Control]:
    return [control for file in load_catalog().controls.values() for control in file.controls]


@pytest.fixture
def judge() -> Iterator[Callable[..., RecordingServer]]:
    """Starts a model that gives doubted replies the same verdict, `judge("passed")`, and each control its own."""
    with ExitStack() as running:

        def start(verdict: str) -> RecordingServer:
            recording = RecordingServer("")

            def answer(_: BaseHTTPRequestHandler, body: bytes) -> Answer:
                recording.bodies.append(json.loads(body))
                found = known_verdict(recording.bodies[-1]["messages"][-1]["content"]) or verdict
                content = json.dumps({"verdict": found, "reason": "another wording of what was asked for"})
                message = {"role": "assistant", "content": content}
                choice = {"index": 0, "finish_reason": "stop", "message": message}
                reply = {
                    "id": "1",
                    "object": "chat.completion",
                    "created": 1,
                    "model": "judge",
                    "choices": [choice],
                }
                return 200, {"Content-Type": "application/json"}, json.dumps(reply).encode()

            recording.base_url = address_of(running.enter_context(listening(answer)))
            return recording

        yield start


@pytest.fixture
def overlay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Overlays the shipped catalog: `overlay(models={...}, respondents=[{...}])`."""

    def write(models: dict[str, Any] | None = None, respondents: tuple[dict[str, Any], ...] = ()) -> Path:
        folder = tmp_path / "catalog"
        (folder / "respondents").mkdir(parents=True, exist_ok=True)
        (folder / "models.yaml").write_text(yaml.safe_dump(models or {}), encoding="utf-8")
        for respondent in respondents:
            path = folder / "respondents" / f"{respondent['id']}.yaml"
            path.write_text(yaml.safe_dump(respondent), encoding="utf-8")
        monkeypatch.setenv("BIASGRID_CATALOG", str(folder))
        return folder

    return write


@pytest.fixture
def gateway(serve: Serve, overlay: Callable[..., Path]) -> Callable[..., RecordingServer]:
    """Serves a respondent over HTTP as `gateway/NAME`: `gateway("slow", {"limits": …}, latency_ms=250)`."""

    def start(
        name: str, provider: dict[str, Any] | None = None, models: dict[str, Any] | None = None, **behaviour: Any
    ) -> RecordingServer:
        respondent = {"id": name, "description": "Behind a gateway.", **behaviour}
        server = serve(name, overlay=overlay(respondents=(respondent,)))
        providers = {"gateway": provider_at(server.base_url, **provider or {})}
        overlay({"providers": providers, "models": models or {}}, respondents=(respondent,))
        return server

    return start


@pytest.fixture(scope="session")
def scenario() -> Callable[..., dict[str, Any]]:
    """A small scenario: `scenario(models, requirements, **settings)`."""

    def make(
        models: list[str], requirements: list[dict[str, Any]] | None = None, **settings: Any
    ) -> dict[str, Any]:
        small = {"templates": 2, "seed": 7, "temperature": 1.0, "max_tokens": 60, "retries": 3}
        return {
            "name": "small",
            "scenario": {**small, "models": models, **settings},
            "requirements": requirements or [requirement()],
        }

    return make


def requirement(**changes: Any) -> dict[str, Any]:
    return {
        "name": "genders-alike",
        "concern": "sexism",
        "languages": ["en_us"],
        "tolerance": 0.9,
        "delta": 0.02,
        "communities": "gender",
        "inputs": ["constrained"],
        **changes,
    }


@pytest.fixture
def scenario_file(scenario: Callable[..., dict[str, Any]], tmp_path: Path) -> Callable[..., Path]:
    """Writes a small scenario: `scenario_file(models, requirements, **settings)`."""

    def write(*asked: Any, **settings: Any) -> Path:
        return write_yaml(tmp_path / "small.yaml", scenario(*asked, **settings))

    return write


def write_yaml(path: Path, content: Any) -> Path:
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return path


@pytest.fixture(scope="session", name="requirement")
def _requirement() -> Callable[..., dict[str, Any]]:
    return requirement


@dataclass(frozen=True)
class Landed:
    """One run in a data directory."""

    lake: Lake
    run_id: str

    def table(self, name: str) -> pl.DataFrame:
        return self.lake.read(name, self.run_id)

    @property
    def replies(self) -> pl.DataFrame:
        return self.table("responses").filter(pl.col("purpose") == "subject")

    @property
    def state(self) -> str:
        return str(self.lake.newest("runs", self.run_id)["state"][0])

    def outcomes(self) -> pl.DataFrame:
        """model, instance_id, sample and the outcome of each instance, a number read for same-value tests."""
        instances = self.table("verdicts").filter(pl.col("level") == "instance")
        cases = self.table("cases").select("cell_id", "case_id", "model", "requirement", "instance_id")
        return (
            instances.join(cases, on=["cell_id", "case_id"])
            .select("model", "requirement", "instance_id", "sample", "outcome", "parsed_value")
            .sort("model", "requirement", "instance_id", "sample")
        )


@pytest.fixture(scope="session")
def landed() -> Callable[[Path | str, str], Landed]:
    return lambda data, run_id: Landed(Lake(Path(data)), run_id)


PASSING = ("run_id", "evaluation_id", "started_at", "judged_at")


@pytest.fixture(scope="session")
def comparable() -> Callable[[list[dict[str, Any]]], list[dict[str, Any]]]:
    """Findings without what differs from run to run."""

    def bare(findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
        kept = [{name: value for name, value in row.items() if name not in PASSING} for row in findings]
        return sorted(kept, key=lambda row: (row["model"], row["requirement"]))

    return bare


@dataclass(frozen=True)
class Recorded:
    """One run as Prefect's API has it."""

    flow_run: Any
    task_runs: list[Any]
    artifacts: dict[str, str]
    """What each shows, by its key."""
    logs: list[str]

    def states(self, verb: str) -> list[str]:
        return sorted(run.state_name for run in self.task_runs if run.name.startswith(verb))


@pytest.fixture(scope="session")
def recorded() -> Callable[..., Recorded]:
    """Waits until the server has recorded the end of all task runs of a run: `recorded(run_id, task_runs=n)`."""
    return _read_record


def _read_record(run_id: str, task_runs: int, flow: str = "benchmark") -> Recorded:
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import FlowFilter, FlowRunFilter
    from prefect.client.schemas.sorting import FlowRunSort

    mine = FlowRunFilter.model_validate({"tags": {"all_": [f"run:{run_id}"]}})
    with get_client(sync_client=True) as client:
        named = FlowFilter.model_validate({"name": {"any_": [flow]}})
        flow_run = client.read_flow_runs(
            flow_filter=named, flow_run_filter=mine, sort=FlowRunSort.START_TIME_DESC, limit=1
        )[0]
        only = FlowRunFilter.model_validate({"id": {"any_": [flow_run.id]}})

        def all_ended() -> list[Any]:
            found = _task_runs(client, only)
            ended = all(run.state and run.state.is_final() for run in found)
            return found if ended and len(found) >= task_runs else []

        found = wait_until(all_ended, patience_s=RECORDED_S, every_s=0.2)
        return Recorded(flow_run, found, _artifacts(client, flow_run.id), _logs(client))


def _task_runs(client: Any, only: Any) -> list[Any]:
    from prefect.client.schemas.sorting import TaskRunSort

    found: list[Any] = []
    pages = {"flow_run_filter": only, "sort": TaskRunSort.NAME_ASC, "limit": 200}
    while page := client.read_task_runs(**pages, offset=len(found)):
        found += page
    return found


def _artifacts(client: Any, flow_run_id: Any) -> dict[str, str]:
    only = {"flow_runs": {"id": {"any_": [str(flow_run_id)]}}}
    found = client.request("POST", "/artifacts/filter", json=only).json()
    return {artifact["key"]: artifact["data"] for artifact in found}


def _logs(client: Any) -> list[str]:
    """Everything logged to the server so far, of all runs."""
    found: list[Any] = []
    while page := client.read_logs(limit=200, offset=len(found)):
        found += page
    return [log.message for log in found]
