"""Anthropic's message batches over its SDK: listed, found, sent and read piece by piece."""

import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from biasgrid.catalogs.schema.models import Batching, Limits, Target
from biasgrid.tasks.connectors.api import (
    KeyRejected,
    ModelUnknown,
    QuotaSpent,
    RateLimited,
    RequestRejected,
    ServerFault,
    TimedOut,
)
from biasgrid.tasks.connectors.batch.api import BatchApi, connect
from biasgrid.tasks.connectors.batch.lines import Batch, BatchCancelled, OutputTooLong, SoughtBatch, dump_line
from biasgrid.tasks.connectors.batch.recorded_job import RecordedJob
from support.message_batches import MessageHub, errored, message_hub, succeeded

__all__ = ["message_hub"]
KEY = "sk-ant-notakey5Wq9rT3v"
NOW = datetime.now(UTC)
JOB = RecordedJob("RUN", "JOB", "anthropic-sdk", "anthropic-sdk/m", NOW)
MEGABYTE = 1_000_000


@pytest.fixture
async def batches(message_hub: MessageHub) -> AsyncIterator[BatchApi]:
    target = Target(
        model="anthropic-sdk/m",
        provider="anthropic-sdk",
        name="m",
        connector="anthropic",
        base_url=message_hub.url,
        key_env=("HUB_KEY",),
        limits=Limits(timeout_s=5),
        batch=Batching(),
    )
    made = connect(target, KEY)
    yield made
    await made.close()


def make_requests(job_id: str, count: int = 2) -> list[dict[str, Any]]:
    return [{"custom_id": f"{job_id}-{number}", "params": {"model": "m"}} for number in range(count)]


def write_lines(path: Path, texts: list[str]) -> Path:
    lines = [dump_line({"custom_id": str(number), "params": {"text": text}}) for number, text in enumerate(texts)]
    path.write_bytes(b"".join(lines))
    return path


async def test_a_batch_is_created_with_the_requests_of_a_file_and_none_is_uploaded(message_hub, batches, tmp_path):
    path = write_lines(tmp_path / "in", ["one", "half \ud83d", '"custom_id":"quoted"'])
    assert await batches.upload(path, "in.jsonl") is None
    made = await batches.create(JOB, path)
    assert made == Batch("msgbatch_0", "in_progress", completed=0, failed=0)
    assert message_hub.requests["msgbatch_0"] == [
        {"custom_id": "JOB-0", "params": {"text": "one"}},
        {"custom_id": "JOB-1", "params": {"text": "half \ud83d"}},
        {"custom_id": "JOB-2", "params": {"text": '"custom_id":"quoted"'}},
    ]
    assert KEY in message_hub.received[0].headers.get(
        "x-api-key", message_hub.received[0].headers["authorization"]
    )


async def test_megabytes_are_sent_whole_and_results_are_read_piece_by_piece(message_hub, batches, tmp_path):
    path = write_lines(tmp_path / "in", ["x" * MEGABYTE] * 8)
    await batches.create(JOB, path)
    (sent,) = message_hub.received
    assert int(sent.headers["content-length"]) > 8 * MEGABYTE
    message_hub.result = lambda request: succeeded({"params": {"model": "m"}}, "y" * 5 * MEGABYTE)
    results = message_hub.results("msgbatch_0")
    message_hub.results = lambda batch_id: results  # type: ignore[method-assign]
    tracemalloc.start()
    await batches.download("msgbatch_0", tmp_path / "out", 8)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (tmp_path / "out").read_bytes() == results
    assert most < 8 * MEGABYTE
    with pytest.raises(OutputTooLong):
        await batches.download("msgbatch_0", tmp_path / "out", 1)


async def test_what_a_batch_holds_is_counted_once_it_has_ended(message_hub, batches):
    message_hub.add(make_requests("JOB", 3))
    ends = iter([{"type": "expired"}, errored("api_error"), {"type": "canceled"}] * 3)
    first = await batches.retrieve("msgbatch_0")
    message_hub.result = lambda request: next(ends)
    second = await batches.retrieve("msgbatch_0")
    assert (first.state, first.ended, first.output_file_id) == ("in_progress", False, None)
    assert second == Batch("msgbatch_0", "cancelled", "msgbatch_0", completed=0, failed=3)


async def test_the_batch_of_a_job_is_found_among_hundreds_by_its_first_result(message_hub, batches):
    for number in range(250):
        message_hub.end(message_hub.add(make_requests(f"job{number}"))["id"])
    found = await batches.find(SoughtBatch("job30", NOW, 2))
    assert found is not None
    assert found.id == "msgbatch_30"
    assert await batches.find(SoughtBatch("job30", NOW, 3)) is None
    pages = [request.query.get("after_id") for request in message_hub.received if "limit" in request.query]
    assert pages[:3] == [None, "msgbatch_150", "msgbatch_50"]


async def test_one_of_as_many_requests_that_goes_on_is_taken_unless_it_is_known(message_hub, batches):
    message_hub.add(make_requests("a"))
    message_hub.add(make_requests("b"))
    newest = await batches.find(SoughtBatch("x", NOW, 2))
    assert newest is not None
    assert newest.id == "msgbatch_1"
    other = await batches.find(SoughtBatch("x", NOW, 2, frozenset({"msgbatch_1"})))
    assert other is not None
    assert other.id == "msgbatch_0"
    message_hub.end("msgbatch_0")
    assert await batches.find(SoughtBatch("x", NOW, 2, frozenset({"msgbatch_1"}))) is None


async def test_batches_from_long_before_the_job_are_not_gone_through(message_hub, batches):
    for number in range(250):
        message_hub.add(make_requests(f"job{number}"), NOW - timedelta(days=2))
    await batches.find(SoughtBatch("x", NOW, 7))
    assert len(message_hub.received) == 1


FAILURES = [
    (401, "authentication_error", "invalid x-api-key", KeyRejected),
    (404, "not_found_error", "no such thing", ModelUnknown),
    (400, "invalid_request_error", "too many requests in a batch", RequestRejected),
    (413, "request_too_large", "too large", RequestRejected),
    (400, "invalid_request_error", "Your credit balance is too low", QuotaSpent),
    (429, "rate_limit_error", "slow down", RateLimited),
    (529, "overloaded_error", "Overloaded", ServerFault),
]


@pytest.mark.parametrize(("status", "kind", "message", "error"), FAILURES)
async def test_every_call_fails_as_a_request_does(message_hub, batches, tmp_path, status, kind, message, error):
    async def fails(request: Any) -> Any:
        return message_hub.fail(status, kind, f"{message} {KEY}")

    message_hub.instead = fails
    path = write_lines(tmp_path / "in", ["x"])
    calls: list[Callable[[], Awaitable[object]]] = [
        lambda: batches.create(JOB, path),
        lambda: batches.retrieve("msgbatch_0"),
        lambda: batches.find(SoughtBatch("J", NOW, 2)),
        lambda: batches.download("msgbatch_0", tmp_path / "out", 3),
        lambda: batches.delete("msgbatch_0"),
    ]
    for call in calls:
        before = len(message_hub.received)
        with pytest.raises(error) as caught:
            await call()
        assert KEY not in repr(caught.value)
        assert len(message_hub.received) == before + 1


@pytest.mark.parametrize(
    ("result", "error"),
    [
        (errored("overloaded_error"), ServerFault),
        (errored("rate_limit_error"), RateLimited),
        (errored("invalid_request_error", "prompt is too long"), RequestRejected),
        (errored("invalid_request_error", "Your credit balance is too low"), QuotaSpent),
        (errored("not_found_error", "model: m"), ModelUnknown),
        ({"type": "errored", "error": {"type": "api_error", "message": "flat"}}, ServerFault),
        ({"type": "errored"}, ServerFault),
        ({"type": "expired"}, TimedOut),
        ({"type": "canceled"}, BatchCancelled),
        ({"type": "unheard of"}, ServerFault),
        (None, ServerFault),
    ],
)
async def test_a_result_that_failed_is_distinguished_as_a_request_is(batches, result, error):
    found = batches.lines.outcome(dump_line({"custom_id": "k", "result": result}))
    assert found is not None
    assert (found[0], type(found[1])) == ("k", error)
