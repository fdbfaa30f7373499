"""The server's journal of requests and their outcomes."""

import hashlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.schema.respondents import Faults, RequestLimits, Respondent
from biasgrid.tasks.connectors.simulated.server.app import RunningServer, build_app

PATIENCE_S = 5.0


def respondents() -> list[Respondent]:
    names = ("rate_limited", "disconnected", "truncated_body", "slow_body", "content_filter")
    found = [
        Respondent(id=name, description="", faults=Faults.model_validate({name: 1, "most": 1, "stall_s": 0.1}))
        for name in names
    ]
    slow = Respondent(id="slow", description="", latency_ms=300)
    once = Respondent(id="once", description="", limits=RequestLimits(requests_per_minute=1, burst_s=1))
    return [*found, slow, once]


class Asked:
    """A server with the newest entries of its journal."""

    def __init__(self, client: httpx.Client, path: Path) -> None:
        self.client, self.path = client, path

    def post(self, model: str, text: str = "Who?", key: str = "k", timeout: float = 5) -> httpx.Response:
        body = {"model": model, "messages": [{"role": "user", "content": text}], "seed": 7}
        headers = {"authorization": f"Bearer {key}"}
        return self.client.post("/v1/chat/completions", json=body, headers=headers, timeout=timeout)

    def newest(self, after: int) -> dict[str, Any]:
        """The first entry after so many, once it is there."""
        until = time.monotonic() + PATIENCE_S
        while len(self.lines()) <= after and time.monotonic() < until:
            time.sleep(0.01)
        return self.lines()[after]

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.client.get("/journal").text.splitlines()]


@pytest.fixture(scope="module")
def asked(bench: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    path = tmp_path_factory.mktemp("journal") / "asked.jsonl"
    app = build_app(bench.catalog(*respondents()), journal=path)
    with RunningServer(app) as server, httpx.Client(base_url=server.base_url) as client:
        yield Asked(client, path)


def test_an_answered_request_is_reported_with_the_hash_of_its_messages(asked):
    before = len(asked.lines())
    asked.post("gpt-4o", "Größe?")
    entry = asked.newest(before)
    plain = '[{"role":"user","content":"Größe?"}]'
    assert entry["messages"] == hashlib.sha256(plain.encode()).hexdigest()
    assert (entry["model"], entry["seed"], entry["outcome"], entry["fault"]) == ("gpt-4o", 7, "answered", None)
    assert entry["arrived_at"] <= entry["ended_at"]


@pytest.mark.parametrize("model", ["rate_limited", "disconnected", "truncated_body"])
def test_a_fault_is_reported_by_its_name_and_the_answer_after_it_as_such(asked, model):
    before = len(asked.lines())
    for _ in range(2):
        try:
            asked.post(model)
        except httpx.TransportError:
            continue
    assert [asked.newest(before + place)["outcome"] for place in (0, 1)] == [model, "answered"]


@pytest.mark.parametrize("model", ["slow_body", "content_filter"])
def test_what_is_odd_but_whole_is_answered(asked, model):
    before = len(asked.lines())
    asked.post(model)
    entry = asked.newest(before)
    assert (entry["outcome"], entry["fault"]) == ("answered", model)


def test_a_client_that_has_gone_was_not_answered(asked):
    before = len(asked.lines())
    with pytest.raises(httpx.ReadTimeout):
        asked.post("slow", timeout=0.1)
    assert asked.newest(before)["outcome"] == "abandoned"


def test_a_client_that_wants_no_more_of_the_connection_was_answered(asked):
    before = len(asked.lines())
    assert asked.client.post("/generate", json={"inputs": "Who?"}, headers={"connection": "close"}).is_success
    assert asked.newest(before)["outcome"] == "answered"


def test_a_declined_request_is_reported_with_the_reason(asked):
    before = len(asked.lines())
    asked.post("fair", key="wrong-key")
    asked.post("nobody")
    asked.post("once")
    asked.post("once")
    outcomes = [asked.newest(before + place)["outcome"] for place in range(4)]
    assert outcomes == ["key", "model", "answered", "throttled"]


def test_the_file_has_the_same_and_no_key(asked):
    asked.post("fair", key="sk-never-to-be-seen")
    asked.newest(0)
    written = asked.path.read_text()
    assert [json.loads(line) for line in written.splitlines()] == asked.lines()
    assert "never-to-be-seen" not in written


def test_it_is_there_in_process(bench):
    app = build_app(bench.catalog())
    with RunningServer(app) as server, httpx.Client(base_url=server.base_url) as client:
        client.post("/generate", json={"inputs": "Who?"})
        Asked(client, Path()).newest(0)
        assert [entry.outcome for entry in app.state.journal.entries] == ["answered"]


def test_a_file_that_cannot_be_written_is_a_mistake(bench, tmp_path):
    with pytest.raises(UserError, match="cannot write"):
        build_app(bench.catalog(), journal=tmp_path / "no" / "asked.jsonl")
