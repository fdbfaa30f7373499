"""OpenAI's Batch API over its SDK: files up and down piece by piece, batches read, failures distinguished."""

from __future__ import annotations

import io
import json
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given, settings
from hypothesis import strategies as st

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.schema.models import Batching, Limits, Target
from biasgrid.tasks.connectors.api import (
    BrokenReply,
    ConnectorError,
    Disconnected,
    KeyRejected,
    ModelUnknown,
    QuotaSpent,
    RateLimited,
    Reply,
    ReplyMisplaced,
    RequestRejected,
    ServerFault,
    TimedOut,
)
from biasgrid.tasks.connectors.batch.api import BatchApi, connect
from biasgrid.tasks.connectors.batch.lines import Batch, BatchCancelled, BatchRejected, OutputTooLong, SoughtBatch
from biasgrid.tasks.connectors.batch.openai_batches import ChatLines
from biasgrid.tasks.connectors.batch.recorded_job import RecordedJob
from biasgrid.tasks.connectors.client.error_mapping import ErrorMapper, ReplyTooLong
from biasgrid.warehouse.storage.errors import StorageTrouble
from support.http_server import serving

KEY = "sk-notakey5Wq9rT3v"
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
JOB = RecordedJob("RUN", "JOB", "hub", "hub/m", NOW, input_file_id="file-in")
MEGABYTE = 1_000_000
Behaviour = Callable[[web.Request], Awaitable[web.StreamResponse]]


def described(number: int = 1, **changes: Any) -> dict[str, Any]:
    batch = {
        "id": f"batch_{number}",
        "object": "batch",
        "endpoint": "/v1/chat/completions",
        "completion_window": "24h",
        "created_at": int(NOW.timestamp()) - number,
        "input_file_id": "file-in",
        "status": "in_progress",
        "metadata": {"biasgrid_job": f"job-{number}"},
        "request_counts": {"total": 9, "completed": 4, "failed": 1},
    }
    return batch | changes


@dataclass
class Hub:
    """A loopback server of files and batches that answers with what a test gives it."""

    url: str = ""
    received: list[web.Request] = field(default_factory=list)
    received_bytes: int = 0
    uploaded: bytes = b""
    created: dict[str, Any] = field(default_factory=dict)
    batches: list[dict[str, Any]] = field(default_factory=list)
    output: bytes = b""
    instead: Behaviour | None = None

    async def respond(self, request: web.Request) -> web.StreamResponse:
        self.received.append(request)
        if self.instead is not None:
            return await self.instead(request)
        match request.method, request.path.removeprefix("/v1").split("/")[1:]:
            case "POST", ["files"]:
                return await self.upload(request)
            case "GET", ["files", _, "content"]:
                return await self.send(request)
            case "POST", ["batches"]:
                self.created = await request.json()
                return web.json_response(described(status="validating"))
            case "GET", ["batches"]:
                return self.page(request)
            case "GET", ["batches", _]:
                return web.json_response(self.batches[0])
        return web.json_response({"id": "file-1", "object": "file", "deleted": True})

    async def upload(self, request: web.Request) -> web.StreamResponse:
        async for piece in request.content.iter_any():
            self.received_bytes += len(piece)
            self.uploaded = (self.uploaded + piece)[:4096]
        return web.json_response({"id": "file-in", "object": "file", "purpose": "batch"})

    async def send(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/octet-stream"})
        await response.prepare(request)
        for start in range(0, len(self.output), 65_536):
            await response.write(self.output[start : start + 65_536])
        return response

    def page(self, request: web.Request) -> web.Response:
        after, limit = request.query.get("after"), int(request.query["limit"])
        ids = [batch["id"] for batch in self.batches]
        start = ids.index(after) + 1 if after else 0
        found = self.batches[start : start + limit]
        return web.json_response({"object": "list", "data": found, "has_more": len(ids) > start + limit})


def answers(status: int, code: str = "", message: str = "no") -> Behaviour:
    async def behaviour(request: web.Request) -> web.StreamResponse:
        await request.read()
        return web.json_response({"error": {"message": message, "code": code}}, status=status)

    return behaviour


async def breaks_off(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Length": "500"})
    await response.prepare(request)
    await response.write(b'{"custom_id"')
    assert request.transport is not None
    request.transport.close()
    return response


async def drops(request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.close()
    return web.Response()


@pytest.fixture
async def hub() -> AsyncIterator[Hub]:
    hub = Hub()
    app = web.Application(client_max_size=1 << 30)
    app.router.add_route("*", "/{path:.*}", hub.respond)
    async with serving(app) as address:
        hub.url = f"{address}/v1"
        yield hub


def model(url: str = "http://127.0.0.1:1/v1", **changes: Any) -> Target:
    given: dict[str, Any] = {
        "model": "hub/m",
        "provider": "hub",
        "name": "m",
        "connector": "openai",
        "base_url": url,
        "key_env": ("HUB_KEY",),
        "limits": Limits(timeout_s=2),
        "batch": Batching(),
    }
    return Target(**(given | changes))


@pytest.fixture
async def batches(hub: Hub) -> AsyncIterator[BatchApi]:
    made = connect(model(hub.url), KEY)
    yield made
    await made.close()


@pytest.fixture
def lines() -> ChatLines:
    return ChatLines(model(), ErrorMapper(model(), KEY), "max_tokens")


async def test_an_input_file_is_sent_whole_under_its_name(hub, batches, tmp_path):
    (tmp_path / "in").write_bytes(b'{"custom_id":"a"}\n')
    assert await batches.upload(tmp_path / "in", "biasgrid-1.jsonl") == "file-in"
    assert b'filename="biasgrid-1.jsonl"' in hub.uploaded
    assert b'name="purpose"\r\n\r\nbatch\r\n' in hub.uploaded
    assert b'\r\n\r\n{"custom_id":"a"}\n\r\n' in hub.uploaded
    assert hub.received[0].headers["authorization"] == f"Bearer {KEY}"
    assert int(hub.received[0].headers["content-length"]) == len(hub.uploaded)  # gateways refuse chunked uploads


async def test_files_of_many_megabytes_pass_piece_by_piece(hub, batches, tmp_path):
    path, size = tmp_path / "large", 40 * MEGABYTE
    with path.open("wb") as file:
        file.truncate(size)
    await batches.upload(path, "warm.jsonl")
    hub.output = bytes(size)
    tracemalloc.start()
    await batches.upload(path, "large.jsonl")
    await batches.download("file-out", tmp_path / "out", 3)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert hub.received_bytes > 2 * size
    assert (tmp_path / "out").stat().st_size == size
    assert most < 8 * MEGABYTE


async def test_a_file_of_more_than_its_requests_replies_is_not_read_on(hub, batches, tmp_path):
    hub.output = bytes(40 * MEGABYTE)
    with pytest.raises(OutputTooLong, match="16 MB, which `max_reply_mb` sets, for each of its 2 requests"):
        await batches.download("file-out", tmp_path / "out", 2)
    assert (tmp_path / "out").stat().st_size < 33 * MEGABYTE


def test_a_line_that_is_too_long_is_that_requests_outcome_alone(tmp_path):
    small = model(limits=Limits(max_reply_mb=0.1))
    lines = ChatLines(small, ErrorMapper(small, KEY), "max_tokens")
    sound = {"status_code": 200, "body": {"choices": [{"message": {"content": "No"}}]}}
    ends = b'", "response": {"status_code": 200, "body": "' + b"x" * 300_000 + b'"}}\n'
    whole = json.dumps({"custom_id": "b", "response": sound}).encode()
    given = b'{"custom_id": "a' + ends + b'{"id": "' + ends + whole + b"\n" + b"[" * 200_000
    (tmp_path / "out").write_bytes(given)
    with (tmp_path / "out").open("rb") as file:
        first, nameless, second, cut = lines.outcomes(file)
    assert first[0] == "a"
    assert isinstance(first[1], ReplyTooLong)
    assert (second[0], second[1].text) == ("b", "No")
    assert nameless is cut is None


async def test_a_batch_is_created_for_a_day_and_names_its_run_and_job(hub, batches):
    made = await batches.create(JOB, Path("unused"))
    assert hub.created == {
        "input_file_id": "file-in",
        "endpoint": "/v1/chat/completions",
        "completion_window": "24h",
        "metadata": {"biasgrid_run": "RUN", "biasgrid_job": "JOB"},
    }
    assert made == Batch("batch_1", "validating", completed=4, failed=1)
    assert not made.ended


async def test_a_batch_reports_its_state_its_files_and_why_it_was_rejected(hub, batches):
    error = {"code": "invalid_json_line", "message": "This line is no JSON.", "line": 7, "param": None}
    hub.batches = [described(status="failed", errors={"object": "list", "data": [error]}, error_file_id="file-e")]
    batch = await batches.retrieve("batch_1")
    assert (batch.state, batch.ended, batch.queue_full, batch.error_file_id) == ("failed", True, False, "file-e")
    why = batches.lines.refusal(batch)
    assert isinstance(why, BatchRejected)
    assert "line 7: This line is no JSON." in str(why)


async def test_the_batch_of_a_job_is_found_among_hundreds_and_none_for_another(hub, batches):
    hub.batches = [described(number) for number in range(250)]
    found = await batches.find(SoughtBatch("job-217", NOW, 9))
    assert found is not None
    assert found.id == "batch_217"
    assert await batches.find(SoughtBatch("job-999", NOW, 9)) is None
    assert [request.query.get("after") for request in hub.received[-3:]] == [None, "batch_99", "batch_199"]


async def test_batches_from_long_before_the_job_are_not_gone_through(hub, batches):
    hub.batches = [described(number) for number in range(250)]
    assert await batches.find(SoughtBatch("job-249", NOW + timedelta(days=1), 9)) is None
    assert len(hub.received) == 1


FAILURES = [
    (answers(401, "invalid_api_key", f"Incorrect API key provided: {KEY}"), KeyRejected),
    (answers(404), ModelUnknown),
    (answers(400, message="bad file"), RequestRejected),
    (answers(400, "billing_hard_limit_reached"), QuotaSpent),
    (answers(429), RateLimited),
    (answers(503), ServerFault),
    (drops, Disconnected),
]


@pytest.mark.parametrize(("behaviour", "kind"), FAILURES)
async def test_every_call_fails_in_the_words_of_the_connectors(hub, batches, tmp_path, behaviour, kind):
    hub.instead = behaviour
    (tmp_path / "in").write_bytes(b"{}\n" * 100)
    calls: list[Callable[[], Awaitable[object]]] = [
        lambda: batches.upload(tmp_path / "in", "in.jsonl"),
        lambda: batches.create(JOB, Path("unused")),
        lambda: batches.retrieve("batch_1"),
        lambda: batches.find(SoughtBatch("J", NOW, 9)),
        lambda: batches.download("file-out", tmp_path / "out", 3),
        lambda: batches.delete("file-in"),
    ]
    for call in calls:
        with pytest.raises(kind) as caught:
            await call()
        assert KEY not in repr(caught.value)
        assert caught.value.__context__ is None


async def test_a_file_that_breaks_off_is_the_servers_fault(hub, batches, tmp_path):
    hub.instead = breaks_off
    with pytest.raises(ServerFault, match="broke off"):
        await batches.download("file-out", tmp_path / "out", 3)


async def test_a_disk_that_fills_up_under_a_file_is_trouble_of_our_own(hub, batches):
    hub.output = b"x" * MEGABYTE
    with pytest.raises(StorageTrouble, match="No space left"):
        await batches.download("file-out", Path("/dev/full"), 3)


async def test_an_answer_without_an_id_is_no_batch(hub, batches):
    hub.batches = [{"object": "batch"}]
    with pytest.raises(ServerFault, match="gave no id"):
        await batches.retrieve("batch_1")


def test_a_provider_whose_batch_api_is_not_spoken_is_the_users_mistake():
    with pytest.raises(UserError, match="its connector is `azure`"):
        connect(model(connector="azure"), KEY)


def output_line(key: str = "k", **line: Any) -> bytes:
    return json.dumps({"id": "1", "custom_id": key, "response": None, "error": None} | line).encode()


def response_line(status: int, body: Any) -> bytes:
    return output_line(response={"status_code": status, "request_id": "r", "body": body})


def failed_line(status: int, code: str, message: str = "no") -> bytes:
    return response_line(status, {"error": {"message": message, "code": code}})


COMPLETION = {
    "model": "m-2026",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Yes\u2028No"}}],
    "usage": {"prompt_tokens": 11, "completion_tokens": 7},
}


def test_a_line_with_a_completion_is_its_reply(lines):
    assert lines.outcome(response_line(200, COMPLETION)) == ("k", Reply("Yes\u2028No", "stop", 11, 7, "m-2026"))


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (response_line(200, {"choices": []}), ReplyMisplaced),
        (response_line(200, None), BrokenReply),
        (failed_line(429, "rate_limit_exceeded"), RateLimited),
        (failed_line(500, ""), ServerFault),
        (failed_line(400, "context_length_exceeded"), RequestRejected),
        (failed_line(429, "insufficient_quota"), QuotaSpent),
        (output_line(error={"code": "batch_expired", "message": "not in time"}), TimedOut),
        (output_line(error={"code": "batch_cancelled", "message": "cancelled"}), BatchCancelled),
        (output_line(error={"code": "server_error", "message": "it broke"}), ServerFault),
        (output_line(), ServerFault),
    ],
)
def test_a_line_that_failed_is_distinguished_as_a_request_is(lines, line, kind):
    found = lines.outcome(line)
    assert found is not None
    assert (found[0], type(found[1])) == ("k", kind)


def test_what_a_filter_withheld_is_a_reply_without_text(lines):
    assert lines.outcome(failed_line(400, "content_filter")) == ("k", Reply("", "content_filter"))


@pytest.mark.parametrize("line", [b"", b"\n", b"[1]", b'{"custom_id": 7}', b'{"custom_id": "a', b"\xff\xfe"])
def test_a_line_that_reports_of_no_request_is_passed_over(lines, line):
    assert lines.outcome(line) is None


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
KEYS = (
    *("response", "error", "status_code", "body", "code", "message"),
    *("choices", "usage", "finish_reason", "content"),
)
PARTS = st.recursive(
    VALUES, lambda inner: st.dictionaries(st.sampled_from(KEYS), inner, max_size=4) | st.lists(inner, max_size=2)
)


@settings(max_examples=200, derandomize=True, deadline=None)
@given(part=PARTS, noise=st.binary(max_size=40), cut=st.integers(0, 200))
def test_any_line_has_one_outcome_and_takes_none_from_its_neighbours(part, noise, cut):
    """A sound line after anything at all is read as if it stood alone."""
    read = ChatLines(model(), ErrorMapper(model()), "max_tokens")
    strange = json.dumps({"custom_id": "s", **(part if isinstance(part, dict) else {"response": part})}).encode()
    torn = (strange[:cut] + noise).replace(b"\n", b"")
    file = io.BytesIO(b"\n".join([strange, torn, response_line(200, COMPLETION)]))
    first, _, last = read.outcomes(file)
    assert first is not None
    assert first[0] == "s"
    assert isinstance(first[1], Reply | ConnectorError)
    assert last == ("k", Reply("Yes\u2028No", "stop", 11, 7, "m-2026"))


def test_the_limit_on_tokens_is_spelt_as_a_rejection_states_from_then_on(lines, ask):
    request = ask("Who?", key="k", max_tokens=60)
    assert json.loads(lines.of(request))["body"]["max_tokens"] == 60
    words = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    outcome = lines.outcome(failed_line(400, "unsupported_parameter", words))
    assert outcome is not None
    assert lines.learn_from(outcome[1])
    assert json.loads(lines.of(request))["body"]["max_completion_tokens"] == 60
    assert not lines.learn_from(RequestRejected("something else"))


def test_half_an_emoji_is_sent_as_it_is(lines, ask):
    line = lines.of(ask("half \ud83d", key="k"))
    assert json.loads(line)["body"]["messages"][0]["content"] == "half \ud83d"
    assert line.count(b"\n") == 1
