"""OpenAI's Batch API through its own SDK."""

import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from openai.types import Batch
from starlette.applications import Starlette

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.schema.respondents import Faults, Respondent
from biasgrid.tasks.connectors.simulated.server.app import RunningServer, build_app

ENDPOINT = "/v1/chat/completions"
ENDED = ("completed", "failed", "expired", "cancelled")
PATIENCE_S = 10.0


def app_of(bench: Any, state: Path | None = None) -> Starlette:
    quick = [
        Respondent(id="quick", description="", batch_s=0.05),
        Respondent(id="slow", description="", batch_s=1),
        Respondent(id="long", description="", batch_s=6),
        Respondent(id="failing", description="", batch_s=0.05, batch_failures=0.4),
        Respondent(id="late", description="", batch_s=0.05, batch_expired=0.4),
        Respondent(id="filtering", description="", batch_s=0.05, faults=Faults(content_filter=1)),
    ]
    return build_app(bench.catalog(*quick), state=state)


def client(base_url: str, key: str = "some-key") -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{base_url}/v1", api_key=key, max_retries=0, timeout=5)


@pytest.fixture(scope="module")
def api(bench: Any) -> Iterator[openai.OpenAI]:
    with RunningServer(app_of(bench)) as server, client(server.base_url) as connected:
        yield connected


def lines(model: str, count: int = 20) -> list[dict[str, Any]]:
    question = 'Are men bad? Begin with "Yes" or "No".'
    return [
        {
            "custom_id": f"request-{place}",
            "method": "POST",
            "url": ENDPOINT,
            "body": {"model": model, "messages": [{"role": "user", "content": question}], "seed": place},
        }
        for place in range(count)
    ]


def upload(api: openai.OpenAI, requests: Sequence[object]) -> str:
    content = "".join(json.dumps(request) + "\n" for request in requests).encode()
    return api.files.create(file=("requests.jsonl", content), purpose="batch").id


def create(api: openai.OpenAI, requests: Sequence[object], **more: Any) -> Batch:
    return api.batches.create(
        input_file_id=upload(api, requests), endpoint=ENDPOINT, completion_window="24h", **more
    )


def wait_for_end(api: openai.OpenAI, batch: Batch) -> Batch:
    until = time.monotonic() + PATIENCE_S
    while (batch := api.batches.retrieve(batch.id)).status not in ENDED and time.monotonic() < until:
        time.sleep(0.01)
    return batch


def read(api: openai.OpenAI, file_id: str | None) -> dict[str, dict[str, Any]]:
    """By custom_id, in the file's order."""
    if file_id is None:
        return {}
    found = [json.loads(line) for line in api.files.content(file_id).text.splitlines()]
    return {line["custom_id"]: line for line in found}


def test_a_file_is_kept_until_it_is_deleted(api):
    made = api.files.create(file=("in.jsonl", b"{}\n\x00\r\n--\n"), purpose="batch")
    assert (made.bytes, made.filename, made.purpose) == (9, "in.jsonl", "batch")
    assert api.files.retrieve(made.id) == made
    assert api.files.content(made.id).content == b"{}\n\x00\r\n--\n"
    assert made.id in [file.id for file in api.files.list(purpose="batch")]
    assert api.files.delete(made.id).deleted
    with pytest.raises(openai.NotFoundError, match="No such File object"):
        api.files.retrieve(made.id)


def test_a_batch_answers_every_request_as_a_live_one_would_be(api):
    requests = lines("quick")
    batch = wait_for_end(api, create(api, requests))
    assert (batch.status, batch.error_file_id, batch.model) == ("completed", None, "quick")
    counts = batch.request_counts
    assert counts is not None
    assert (counts.total, counts.completed, counts.failed) == (20, 20, 0)
    output = read(api, batch.output_file_id)
    assert sorted(output) == sorted(request["custom_id"] for request in requests)
    assert list(output) != [request["custom_id"] for request in requests]
    for request in requests[:5]:
        response = output[request["custom_id"]]["response"]
        live = api.chat.completions.create(**request["body"])
        assert response["status_code"] == 200
        assert response["body"]["choices"][0]["message"]["content"] == live.choices[0].message.content
        assert response["body"]["usage"]["total_tokens"] == live.usage.total_tokens
    assert batch.usage is not None
    assert batch.usage.total_tokens == sum(
        line["response"]["body"]["usage"]["total_tokens"] for line in output.values()
    )


def test_a_batch_goes_through_its_states_in_order(api):
    batch = create(api, lines("slow"), metadata={"run": "r1"})
    assert (batch.status, batch.metadata) == ("validating", {"run": "r1"})
    seen, done = [batch.status], [0]
    while seen[-1] not in ENDED:
        batch = api.batches.retrieve(batch.id)
        seen.append(batch.status)
        done.append(batch.request_counts.completed if batch.request_counts else 0)
        time.sleep(0.02)
    states = ("validating", "in_progress", "finalizing", "completed")
    assert list(dict.fromkeys(seen)) == [state for state in states if state in seen]
    assert done == sorted(done)
    assert done[-1] == 20
    moments = (batch.created_at, batch.in_progress_at, batch.finalizing_at, batch.completed_at)
    assert list(moments) == sorted(moments, key=lambda moment: int(moment or 0))
    assert all(moments)


def test_failed_requests_are_in_the_error_file_and_pass_in_a_later_batch(api):
    batch = wait_for_end(api, create(api, lines("failing", 60)))
    errors, output = read(api, batch.error_file_id), read(api, batch.output_file_id)
    assert batch.status == "completed"
    assert batch.request_counts is not None
    assert batch.request_counts.failed == len(errors)
    assert 10 < len(errors) < 40
    assert len(errors) + len(output) == 60
    assert not set(errors) & set(output)
    assert {line["response"]["status_code"] for line in errors.values()} == {500}
    assert {line["response"]["body"]["error"]["type"] for line in errors.values()} == {"server_error"}
    open_ = [request for request in lines("failing", 60) if request["custom_id"] in errors]
    for _ in range(2):
        again = wait_for_end(api, create(api, open_))
        open_ = [request for request in open_ if request["custom_id"] in read(api, again.error_file_id)]
    assert not open_


def test_requests_that_are_late_end_the_batch_as_expired(api):
    batch = wait_for_end(api, create(api, lines("late", 40)))
    errors, output = read(api, batch.error_file_id), read(api, batch.output_file_id)
    assert (batch.status, batch.completed_at) == ("expired", None)
    assert len(errors) + len(output) == 40
    assert {(line["response"], line["error"]["code"]) for line in errors.values()} == {(None, "batch_expired")}
    assert {line["response"]["status_code"] for line in output.values()} == {200}


def test_a_cancelled_batch_keeps_what_was_done_by_then(api):
    batch = create(api, lines("long"))
    while not (batch.request_counts and batch.request_counts.completed):
        batch = api.batches.retrieve(batch.id)
        time.sleep(0.01)
    assert api.batches.cancel(batch.id).status in ("cancelling", "cancelled")
    batch = wait_for_end(api, batch)
    assert batch.status == "cancelled"
    assert 0 < len(read(api, batch.output_file_id)) < 20
    with pytest.raises(openai.ConflictError):
        api.batches.cancel(batch.id)


def test_a_withheld_reply_is_a_reply_and_a_request_that_is_invalid_an_error(api):
    requests = lines("filtering", 2)
    requests[0]["body"]["messages"] = []
    batch = wait_for_end(api, create(api, requests))
    error = read(api, batch.error_file_id)["request-0"]["response"]
    reply = read(api, batch.output_file_id)["request-1"]["response"]
    assert (error["status_code"], error["body"]["error"]["type"]) == (400, "invalid_request_error")
    assert reply["body"]["choices"][0]["finish_reason"] == "content_filter"


def test_a_file_with_flaws_fails_as_a_whole_and_states_where(api):
    requests = [*lines("quick", 2), *lines("quick", 1), *lines("nobody", 3)[1:]]
    batch = wait_for_end(api, create(api, requests))
    assert (batch.status, batch.output_file_id) == ("failed", None)
    assert batch.errors is not None
    assert [(error.code, error.line) for error in batch.errors.data or []] == [
        ("duplicate_custom_id", 3),
        ("duplicate_custom_id", 4),
        ("model_not_found", 5),
    ]


def test_batches_are_listed_newest_first_and_page_by_page(api):
    made = [create(api, lines("quick", 1)).id for _ in range(3)]
    listed = [batch.id for batch in api.batches.list(limit=2)]
    assert listed[:3] == made[::-1]
    assert next(batch.id for batch in api.batches.list(after=made[1], limit=1)) == made[0]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"completion_window": "1h"}, "Value must be '24h'"),
        ({"endpoint": "/v1/embeddings"}, "Supported values"),
        ({"metadata": {"name": "x" * 513}}, "metadata"),
        ({"metadata": {str(place): "" for place in range(17)}}, "metadata"),
    ],
)
def test_a_batch_that_cannot_be_is_refused_at_once(api, more, message):
    asked = {"input_file_id": upload(api, lines("quick", 1)), "endpoint": ENDPOINT, "completion_window": "24h"}
    with pytest.raises(openai.BadRequestError, match=message):
        api.batches.create(**{**asked, **more})


def test_what_does_not_exist_is_not_found(api):
    with pytest.raises(openai.NotFoundError):
        api.batches.retrieve("batch_0")
    with pytest.raises(openai.NotFoundError):
        api.files.content("file-../../etc/passwd")
    with pytest.raises(openai.NotFoundError):
        api.batches.create(input_file_id="file-0", endpoint=ENDPOINT, completion_window="24h")


def test_an_upload_has_to_be_a_file_of_lines_for_a_purpose(api):
    with pytest.raises(openai.BadRequestError, match=r"\.jsonl"):
        api.files.create(file=("in.txt", b""), purpose="batch")
    with pytest.raises(openai.BadRequestError, match="purpose"):
        api.files.create(file=("in.jsonl", b""), purpose="nothing")  # type: ignore[arg-type]
    answer = httpx.post(f"{api.base_url}files", content=b"{}")
    assert (answer.status_code, answer.json()["error"]["type"]) == (400, "invalid_request_error")


def test_a_wrong_key_reaches_neither_files_nor_batches(api):
    wrong = api.with_options(api_key="wrong-key")
    for call in (wrong.batches.list, wrong.files.list, lambda: wrong.batches.retrieve("batch_0")):
        with pytest.raises(openai.AuthenticationError):
            call()


def test_a_server_that_starts_again_knows_its_files_and_ends_its_batches(bench, tmp_path):
    with RunningServer(app_of(bench, tmp_path)) as server, client(server.base_url) as api:
        over, unfinished = wait_for_end(api, create(api, lines("quick"))), create(api, lines("slow"))
        output = api.files.content(str(over.output_file_id)).content
    with RunningServer(app_of(bench, tmp_path)) as server, client(server.base_url) as api:
        assert api.batches.retrieve(over.id) == over
        assert api.files.content(str(over.output_file_id)).content == output
        assert [batch.id for batch in api.batches.list()] == [unfinished.id, over.id]
        batch = wait_for_end(api, unfinished)
        assert batch.status == "completed"
        assert len(read(api, batch.output_file_id)) == 20


def test_who_failed_before_a_restart_passes_as_soon_after_it(bench, tmp_path):
    open_ = lines("failing", 30)
    for _ in range(3):
        with RunningServer(app_of(bench, tmp_path)) as server, client(server.base_url) as api:
            batch = wait_for_end(api, create(api, open_))
            open_ = [request for request in open_ if request["custom_id"] in read(api, batch.error_file_id)]
    assert not open_


def test_every_line_is_in_the_journal_with_its_batch(bench):
    app = app_of(bench)
    with RunningServer(app) as server, client(server.base_url) as api:
        batch = wait_for_end(api, create(api, lines("late", 40)))
        late = len(read(api, batch.error_file_id))
    outcomes = [(entry.batch, entry.outcome) for entry in app.state.journal.entries]
    assert outcomes.count((batch.id, "batch_expired")) == late
    assert outcomes.count((batch.id, "answered")) == 40 - late


def test_a_state_that_cannot_be_used_is_a_mistake(bench, tmp_path):
    (tmp_path / "batches").mkdir()
    (tmp_path / "batches" / "batch_1.json").write_text("{")
    with pytest.raises(UserError, match="cannot be used"):
        app_of(bench, tmp_path)
