"""A model is asked in batches: what lands, what it costs, and that nothing is sent twice whatever happens."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import polars as pl
import pytest
import yaml
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.loading.catalog import load_catalog
from biasgrid.catalogs.schema.models import Batching, Limits, Prices, Target
from biasgrid.tasks.connectors.batch import api
from biasgrid.tasks.connectors.client.retry import Backoff, PollPolicy
from biasgrid.tasks.connectors.client.run_budget import RunBudget, most_usd
from biasgrid.tasks.connectors.rows import to_request
from biasgrid.tasks.connectors.simulated.server.app import RunningServer, build_app
from biasgrid.tasks.prompt.batch.jobs import Progress, requests_waiting, unsettled_jobs
from biasgrid.tasks.prompt.batch.model import BatchOptions, batch_cells
from biasgrid.tasks.prompt.run_costs import outstanding_jobs, read_run_costs
from biasgrid.warehouse.storage.lake import Lake
from support.gateway import Before, Step, answers, loses_the_answer

RUN = "01M00000000000000000000001"
KEY = "sk-notakey7Qx2mZ84"


@dataclass
class Provider:
    """Respondents behind a gateway that notes what passes it, and does now and then what a test wants."""

    url: str = ""
    calls: list[tuple[str, str]] = field(default_factory=list)
    inputs: list[list[dict[str, Any]]] = field(default_factory=list)
    """The lines of each uploaded file."""
    metadata: list[dict[str, str]] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    steps: dict[tuple[str, str], deque[Step]] = field(default_factory=dict)

    def then(self, method: str, path: str, *steps: Step) -> None:
        """What happens to the next calls of a method whose path ends so."""
        self.steps.setdefault((method, path), deque()).extend(steps)

    def asked(self) -> Counter[str]:
        """How many batches each request was in."""
        return Counter(line["custom_id"] for lines in self.inputs for line in lines)

    def count(self, method: str, path: str) -> int:
        return sum(call == (method, path) for call in self.calls)

    def step(self, method: str, path: str) -> Step | None:
        for (wanted, end), steps in self.steps.items():
            if wanted == method and path.endswith(end) and steps:
                return steps.popleft()
        return None


class Gateway(Before):
    def __init__(self, app: ASGIApp) -> None:
        self.app, self.provider = app, Provider()

    def meet(self, request: Request, body: bytes) -> Step | None:
        self.provider.calls.append((request.method, request.url.path.removeprefix("/v1")))
        self.provider.keys.add(request.headers.get("authorization", ""))
        if request.url.path.endswith("/files") and request.method == "POST":
            lines = [line for line in body.splitlines() if line.startswith(b'{"custom_id"')]
            self.provider.inputs.append([json.loads(line) for line in lines])
        elif request.url.path.endswith("/batches") and request.method == "POST":
            self.provider.metadata.append(json.loads(body)["metadata"])
        return self.provider.step(request.method, request.url.path)


async def body_of(app: ASGIApp, scope: Scope, receive: Receive) -> bytes:
    parts: list[bytes] = []

    async def keep(message: Message) -> None:
        parts.append(message.get("body", b""))

    await app(scope, receive, keep)
    return b"".join(parts)


def changes(**fields: Any) -> Step:
    """The answer with other values in it."""

    async def step(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        answer = await body_of(app, scope, receive)
        await JSONResponse(json.loads(answer) | fields)(scope, receive, send)

    return step


def failed_rows(code: str, message: str, line: int | None = None) -> Step:
    error = {"code": code, "message": message, "line": line, "param": None}
    return changes(status="failed", errors={"object": "list", "data": [error]})


RESPONDENTS: dict[str, dict[str, Any]] = {
    "batched": {},
    "flaky": {"batch_failures": 0.5, "faults": {"most": 2}},
    "broken-once": {"batch_failures": 1.0, "faults": {"most": 1}},
    "late": {"batch_expired": 0.4, "faults": {"most": 1}},
    "slow": {"batch_s": 0.5},
    "filtered": {"faults": {"content_filter": 1.0}},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Gateway]]:
    """Its address, and the gateway before it."""
    folder = tmp_path_factory.mktemp("catalog") / "respondents"
    folder.mkdir()
    for name, ways in RESPONDENTS.items():
        described = {"id": name, "description": "Answers in batches.", "batch_s": 0.03} | ways
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(described), encoding="utf-8")
    gateway = Gateway(build_app(load_catalog("shipped", folder.parent), "batched"))
    with RunningServer(gateway) as running:  # type: ignore[arg-type]
        yield f"{running.base_url}/v1", gateway


@pytest.fixture
def provider(server: tuple[str, Gateway]) -> Provider:
    url, gateway = server
    gateway.provider = Provider(url)
    return gateway.provider


@pytest.fixture
def target() -> Target:
    return Target(
        model="gateway/batched",
        provider="gateway",
        name="batched",
        connector="openai",
        key_env=("GATEWAY_KEY",),
        prices=Prices(input=1.0, output=5.0),
        limits=Limits(timeout_s=5),
        batch=Batching(),
    )


@pytest.fixture
def ask(lake: Lake, target: Target, provider: Provider) -> Callable[..., Any]:
    """Asks every planned cell of the run in batches, as a process of its own would: `ask("flaky")`."""

    async def asked(
        name: str = "batched",
        retries: int = 2,
        outage_s: float = 5.0,
        waiting: Callable[[str], None] = lambda _: None,
        **given: Any,
    ) -> Any:
        reached = {"base_url": provider.url, "name": name}
        model = given.pop("target", target).model_copy(update=reached)
        batches = api.connect(model, KEY)
        own = lake.read("cases", RUN).filter(pl.col("model") == model.model)
        cells = own["cell_id"].unique(maintain_order=True).to_list()
        backoff = Backoff(first_s=0.001, longest_s=0.002, outage_s=0.05)
        patience = PollPolicy(first_s=0.01, longest_s=0.02, outage_s=outage_s, backoff=backoff, notify=waiting)
        try:
            options = BatchOptions(retries=retries, patience=patience, **given)
            return await batch_cells(lake, RUN, cells, model, batches, options)
        finally:
            await batches.close()

    return asked


def replies(lake: Lake) -> pl.DataFrame:
    return lake.read("responses", RUN).filter(pl.col("text").is_not_null())


def jobs(lake: Lake) -> pl.DataFrame:
    return lake.newest("jobs", RUN)


async def test_every_case_lands_with_its_reply_at_the_price_of_a_batch(provider, ask, lake, planned, target):
    cases = planned(model=target)
    seen: list[tuple[str, str]] = []
    (tally,) = (await ask(watch=lambda *reported: seen.append(reported[:2]))).values()
    rows = lake.read("responses", RUN).join(cases, on="case_id", suffix="_asked")
    assert rows.height == cases.height > 10
    assert rows["response_id"].n_unique() == rows.height
    for row in rows.iter_rows(named=True):
        assert row["request_key"] == row["request_key_asked"]
        assert (row["messages"], row["parameters"]) == (row["messages_asked"], row["parameters_asked"])
        list_price = (row["input_tokens"] * 1.0 + row["output_tokens"] * 5.0) / 1e6
        assert row["cost_usd"] == pytest.approx(list_price / 2)
        assert (row["latency_ms"], row["attempts"], row["error_class"]) == (None, 1, None)
    assert (tally.planned, tally.answered, tally.failed, tally.state) == (
        cases.height,
        cases.height,
        0,
        "prompted",
    )
    assert tally.cost_usd == pytest.approx(rows["cost_usd"].sum())
    assert seen == [("gateway/batched", "answered")] * cases.height
    assert lake.newest("cells", RUN)["answered"].to_list() == [cases.height]


async def test_a_line_is_the_body_that_is_posted_alone_under_the_requests_key(provider, ask, planned, target):
    cases = planned(model=target)
    await ask(target=target.model_copy(update={"parameters": ("temperature",)}))
    (lines,) = provider.inputs
    assert [line["custom_id"] for line in lines] == cases["request_key"].to_list()
    for line, case in zip(lines, cases.iter_rows(named=True), strict=True):
        assert (line["method"], line["url"]) == ("POST", "/v1/chat/completions")
        assert line["body"] == {"model": "batched", "messages": case["messages"], "temperature": 0.5}


async def test_a_batch_names_its_run_and_its_job_and_leaves_no_file_behind(provider, ask, lake, planned, target):
    planned(model=target)
    await ask()
    (job,) = jobs(lake).to_dicts()
    assert provider.metadata == [{"biasgrid_run": RUN, "biasgrid_job": job["job_id"]}]
    assert (job["state"], job["kind"], job["model"]) == ("collected", "batch", "gateway/batched")
    assert job["provider_job_id"].startswith("batch_")
    events = lake.read("jobs", RUN).sort("event_id")["state"].to_list()
    assert events[:2] == ["submitting", "submitting"]  # before the file and before the batch exist
    removed = [path for method, path in provider.calls if method == "DELETE"]
    assert sorted(removed) == sorted(f"/files/{job[name]}" for name in ("input_file_id", "output_file_id"))
    assert unsettled_jobs(lake, RUN) == []
    assert [path.name for path in lake.root.rglob(".*.partial")] == []


async def test_what_has_landed_is_not_asked_again(provider, ask, lake, planned, target):
    cases = planned(model=target)
    await ask()
    (tally,) = (await ask()).values()
    assert max(provider.asked().values()) == 1
    assert len(provider.inputs) == 1
    assert tally.answered == replies(lake).height == cases.height


async def test_a_model_is_asked_in_as_many_batches_as_its_requests_need(provider, ask, lake, planned, target):
    cases = planned(model=target)
    await ask(target=target.model_copy(update={"batch": Batching(requests=7)}))
    assert [len(lines) for lines in provider.inputs] == _parts(cases.height, 7)
    assert provider.asked() == Counter(cases["request_key"].to_list())
    assert replies(lake).height == cases.height


def _parts(total: int, most: int) -> list[int]:
    return [most] * (total // most) + ([total % most] if total % most else [])


async def test_an_input_file_is_no_larger_than_the_provider_takes(provider, ask, lake, planned, target):
    cases = planned(model=target)
    await ask(target=target.model_copy(update={"batch": Batching(megabytes=0.002)}))
    assert len(provider.inputs) > 2
    assert all(sum(len(json.dumps(line)) for line in lines) < 2500 for lines in provider.inputs)
    assert replies(lake).height == cases.height


async def test_a_question_of_two_requirements_is_sent_once_and_lands_for_both(
    provider, ask, lake, planned, target
):
    cases = planned("fair", model=target)
    planned("strict", model=target)
    tallies = await ask()
    assert provider.asked() == Counter(cases["request_key"].to_list())
    rows = replies(lake)
    assert rows.height == 2 * cases.height
    shared = rows.filter(pl.col("reused_from").is_not_null())
    assert set(shared["reused_from"]) == set(rows.filter(pl.col("reused_from").is_null())["response_id"])
    assert sorted((tally.answered, tally.reused) for tally in tallies.values()) == [
        (0, cases.height),
        (cases.height, 0),
    ]


async def test_an_answer_that_landed_for_one_cell_is_shared_with_a_later_one(provider, ask, lake, planned, target):
    cases = planned("fair", model=target)
    await ask()
    planned("strict", model=target)
    await ask()
    assert len(provider.inputs) == 1
    assert replies(lake).height == 2 * cases.height


async def test_where_nothing_is_shared_each_case_is_asked_on_its_own(provider, ask, lake, planned, target):
    cases = planned("fair", model=target)
    planned("strict", model=target)
    await ask(shares=False)
    (lines,) = provider.inputs
    assert len(lines) == len({line["custom_id"] for line in lines}) == 2 * cases.height
    rows = replies(lake)
    assert rows["response_id"].n_unique() == rows.height == 2 * cases.height
    assert rows["reused_from"].null_count() == rows.height


async def test_lines_that_failed_go_into_another_batch_as_often_as_is_allowed(
    provider, ask, lake, planned, target
):
    cases = planned(model=target)
    (tally,) = (await ask("flaky", retries=2)).values()
    assert (tally.answered, tally.failed) == (cases.height, 0)
    taken = dict(replies(lake).select("request_key", "attempts").iter_rows())
    assert taken == dict(provider.asked())
    assert set(taken.values()) == {1, 2, 3}


async def test_a_line_that_fails_too_often_is_a_failed_row_and_asked_again_by_the_next_pass(
    provider, ask, lake, planned, target
):
    cases = planned(model=target)
    (tally,) = (await ask("broken-once", retries=0)).values()
    rows = lake.read("responses", RUN)
    assert (tally.failed, tally.answered, tally.state) == (cases.height, 0, "prompted")
    assert set(rows["error_class"]) == {"ServerFault"}
    assert rows["error_message"].str.contains("the server failed").all()
    (tally,) = (await ask("broken-once", retries=0)).values()
    assert tally.answered == replies(lake).height == cases.height


async def test_requests_that_expired_with_their_batch_are_submitted_again(provider, ask, lake, planned, target):
    cases = planned(model=target)
    await ask("late", retries=1)
    assert replies(lake).height == cases.height
    assert set(provider.asked().values()) == {1, 2}
    assert "expired" in jobs(lake).sort("job_id")["error_message"][0]


async def test_what_a_cancelled_batch_left_out_is_not_sent_again_against_a_persons_will(
    provider, ask, lake, planned, target
):
    cases = planned(model=target)
    provider.then("GET", "", changes(status="cancelled"))
    (tally,) = (await ask("slow")).values()
    assert tally.failed == cases.height
    assert set(lake.read("responses", RUN)["error_class"]) == {"BatchCancelled"}
    assert len(provider.inputs) == 1


async def test_replies_missing_from_the_output_are_asked_again(provider, ask, lake, planned, target):
    cases = planned(model=target)
    provider.then("GET", "/content", _empty)
    await ask(retries=1)
    assert replies(lake).height == cases.height
    assert set(provider.asked().values()) == {2}


async def _empty(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b'\n{"half a line\n[1]\n{"custom_id": "nobody"}\n'})


def garbles(chance: random.Random) -> Step:
    """The output with lines torn, doubled, shuffled, of no request, and with side fields of any kind."""

    async def step(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        lines = [line for line in (await body_of(app, scope, receive)).splitlines() if line]
        odd = [_with_odd_sides(json.loads(line), chance) for line in lines]
        torn = [line[: chance.randrange(len(line))] for line in lines]
        sent = [*odd, *torn, *odd[:3], b'{"custom_id": "nobody", "response": {"status_code": 200}}', b"\x00\xff["]
        chance.shuffle(sent)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"\n".join(sent)})

    return step


def _with_odd_sides(line: dict[str, Any], chance: random.Random) -> bytes:
    odd = (True, -1, 2**63, 1e308, "many", None, [], {"prompt_tokens": {}})
    body = line["response"]["body"]
    body |= {name: chance.choice(odd) for name in ("usage", "model", "id", "created", "system_fingerprint")}
    body["choices"][0]["finish_reason"] = chance.choice((*odd, "x" * 100_000))
    return json.dumps(line).encode()


@pytest.mark.parametrize("seed", range(4))
async def test_an_output_file_in_disorder_loses_no_reply(provider, ask, lake, planned, target, seed):
    cases = planned(model=target)
    provider.then("GET", "/content", garbles(random.Random(seed)))
    (tally,) = (await ask(retries=0)).values()
    assert (tally.answered, tally.failed) == (cases.height, 0)
    assert replies(lake)["case_id"].sort().to_list() == cases["case_id"].sort().to_list()
    assert set(provider.asked().values()) == {1}
    assert replies(lake)["finish_reason"].drop_nulls().str.len_bytes().max() < 1_000


async def test_a_filtered_reply_is_a_reply(provider, ask, lake, planned, target):
    cases = planned(model=target)
    (tally,) = (await ask("filtered")).values()
    assert tally.answered == cases.height
    assert set(lake.read("responses", RUN)["finish_reason"]) == {"content_filter"}


async def test_a_batch_whose_creation_got_no_answer_is_found_and_not_created_again(
    provider, ask, lake, planned, target
):
    cases = planned(model=target)
    provider.then("POST", "/batches", loses_the_answer())
    await ask()
    assert provider.count("POST", "/batches") == 1
    assert replies(lake).height == cases.height
    assert set(provider.asked().values()) == {1}


async def test_a_creation_that_failed_is_made_again(provider, ask, lake, planned, target):
    cases = planned(model=target)
    provider.then("POST", "/files", answers(500), answers(429))
    provider.then("POST", "/batches", answers(503), answers(500))
    await ask()
    assert provider.count("POST", "/batches") == 3
    assert replies(lake).height == cases.height


async def test_a_provider_that_stumbles_while_it_is_polled_ends_nothing(provider, ask, lake, planned, target):
    cases = planned(model=target)
    provider.then("GET", "", answers(502), answers(500), answers(429))
    provider.then("GET", "/content", answers(500))
    await ask()
    assert replies(lake).height == cases.height
    assert set(provider.asked().values()) == {1}


async def test_a_provider_that_stays_away_stops_the_model_and_the_next_pass_collects(
    provider, ask, lake, planned, target
):
    cases = planned(model=target)
    provider.then("GET", "", *[answers(500)] * 200)
    (tally,) = (await ask(outage_s=0.1)).values()
    assert tally.failed == cases.height
    assert "biasgrid resume" in str(tally.stopped)
    assert requests_waiting(lake, RUN) == cases.height
    provider.steps.clear()
    (tally,) = (await ask()).values()
    assert tally.answered == replies(lake).height == cases.height
    assert len(provider.inputs) == 1


async def test_a_wrong_key_stops_the_model_and_nothing_is_submitted(provider, ask, lake, planned, target):
    cases = planned(model=target)
    provider.then("POST", "/files", answers(401, message=f"Incorrect key: {KEY}", code="invalid_api_key"))
    (tally,) = (await ask()).values()
    assert (tally.failed, tally.state) == (cases.height, "stopped")
    assert "GATEWAY_KEY" in str(tally.stopped)
    rows = lake.read("responses", RUN)
    assert (set(rows["error_class"]), set(rows["attempts"])) == ({"KeyRejected"}, {0})
    assert jobs(lake)["state"].to_list() == ["rejected"]
    (tally,) = (await ask()).values()
    assert tally.answered == cases.height


async def test_a_batch_that_is_rejected_as_a_whole_stops_the_model_with_the_providers_words(
    provider, ask, lake, planned, target
):
    planned(model=target)
    provider.then("GET", "", failed_rows("invalid_json_line", "This line is not parseable as valid JSON.", 3))
    (tally,) = (await ask()).values()
    assert tally.state == "stopped"
    assert "line 3: This line is not parseable as valid JSON." in str(tally.stopped)
    assert set(lake.read("responses", RUN)["error_class"]) == {"BatchRejected"}
    assert jobs(lake)["state"].to_list() == ["failed"]
    assert len(provider.inputs) == 1


async def test_a_model_that_the_provider_does_not_know_is_reported_as_unknown(
    provider, ask, lake, planned, target
):
    planned(model=target)
    (tally,) = (await ask("nobody-9")).values()
    assert "nobody-9" in str(tally.stopped)
    assert set(lake.read("responses", RUN)["error_class"]) == {"ModelUnknown"}


async def test_a_full_queue_is_waited_for_and_what_never_fits_is_made_smaller(
    provider, ask, lake, planned, target
):
    cases = planned(model=target)
    full = failed_rows("token_limit_exceeded", "Enqueued token limit reached for batched in organization org-1.")
    provider.then("GET", "", full, full)
    await ask(retries=0)
    assert [len(lines) for lines in provider.inputs[:3]] == [cases.height, cases.height // 2, cases.height // 4]
    assert replies(lake).height == cases.height
    assert set(replies(lake)["attempts"]) == {1}


async def test_requests_rejected_for_a_parameters_name_alone_go_again_under_the_right_one(
    provider, ask, lake, planned, target
):
    cases = planned(model=target)
    words = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens'."
    provider.then("GET", "/content", _reject_batch(cases, words))
    await ask(retries=0)
    assert set(provider.asked().values()) == {2}
    assert replies(lake).height == cases.height


def _reject_batch(cases: pl.DataFrame, words: str) -> Step:
    body = {"error": {"message": words, "type": "invalid_request_error", "code": "unsupported_parameter"}}
    return _bring_results(
        [
            {"custom_id": key, "response": {"status_code": 400, "body": body}, "error": None}
            for key in cases["request_key"]
        ]
    )


def _bring_results(lines: list[dict[str, Any]]) -> Step:
    """An output file of one's own."""

    async def step(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": "\n".join(map(json.dumps, lines)).encode()})

    return step


async def test_a_batch_that_the_provider_no_longer_knows_is_reported_and_asked_again_by_the_next_pass(
    provider, ask, lake, planned, target
):
    cases = planned(model=target)
    provider.then("GET", "/batches", changes(data=[]))
    provider.then("GET", "", answers(404))
    (tally,) = (await ask("slow")).values()
    assert "knows no batch" in str(tally.stopped)
    assert jobs(lake)["state"].to_list() == ["lost"]
    await ask("slow")
    assert replies(lake).height == cases.height


async def test_a_wrong_address_for_a_moment_costs_no_second_batch(provider, ask, lake, planned, target):
    cases = planned(model=target)
    provider.then("GET", "", answers(404))
    await ask()
    assert replies(lake).height == cases.height
    assert len(provider.inputs) == 1


async def test_a_pass_that_is_cancelled_leaves_its_batch_to_the_next_one(provider, ask, lake, planned, target):
    cases = planned(model=target)
    waiting = asyncio.Event()

    async def report_progress(progress: Progress) -> None:
        if any(job.state == "in_progress" for job in progress.jobs):
            waiting.set()

    task = asyncio.create_task(ask("slow", report=report_progress))
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert requests_waiting(lake, RUN) == cases.height
    assert not any("cancel" in path for _, path in provider.calls)
    await ask("slow")
    assert len(provider.inputs) == 1
    assert replies(lake).height == cases.height


@pytest.mark.parametrize(("uploaded", "created"), [(True, True), (True, False), (False, False)])
async def test_a_job_that_was_being_submitted_when_its_process_ended_is_submitted_once(
    provider, ask, lake, planned, target, uploaded, created
):
    cases = planned(model=target)
    provider.then("POST", "/batches", loses_the_answer() if created else answers(500))
    provider.then("GET", "/batches", *[answers(500)] * 100)
    if not uploaded:
        provider.then("POST", "/files", *[answers(500)] * 100)
    await ask(outage_s=0.02)
    assert unsettled_jobs(lake, RUN)[0].provider_job_id is None
    provider.steps.clear()
    batches = len(provider.metadata)
    await ask()
    assert replies(lake).height == cases.height
    assert {line["biasgrid_job"] for line in provider.metadata} == {jobs(lake)["job_id"][0]}
    assert provider.count("POST", "/batches") == batches + (0 if created else 1)


async def test_replies_that_landed_before_a_crash_are_not_doubled_when_the_batch_is_collected_again(
    provider, ask, lake, planned, target
):
    planned("fair", model=target)
    cases = planned("strict", model=target)
    before = Counter(dict.fromkeys((await _keep_files(ask, provider, lake))["response_id"], 1))
    for path in [*lake.files("responses", RUN)][1:]:
        path.unlink()  # as if the process had ended before they landed
    for path in lake.files("jobs", RUN):
        if pl.read_parquet(path)["state"][0] == "collected":
            path.unlink()
    provider.then("DELETE", "")
    await ask()
    after = replies(lake)
    assert Counter(after["response_id"].to_list()) == before
    assert after.height == 2 * cases.height
    assert len(provider.inputs) == 1


async def _keep_files(ask: Any, provider: Provider, lake: Lake) -> pl.DataFrame:
    """Replies of a pass whose files stay at the provider."""
    provider.then("DELETE", "", *[answers(500)] * 10)
    await ask()
    return replies(lake)


async def test_a_batch_is_cut_so_that_it_fits_into_the_runs_requests(provider, ask, lake, planned, target):
    cases = planned(model=target)
    run_budget = RunBudget(max_requests=10, sent=3)
    (tally,) = (await ask(run_budget=run_budget)).values()
    assert sum(provider.asked().values()) == tally.answered == 7
    assert (run_budget.sent, tally.failed) == (10, cases.height - 7)
    assert "cap of 10 requests" in str(tally.stopped)


async def test_a_run_never_spends_more_than_its_cap_in_batches(provider, ask, lake, planned, target):
    cases = planned(model=target)
    run_budget = RunBudget(max_cost=0.0026)
    (tally,) = (await ask(run_budget=run_budget)).values()
    assert 0 < tally.answered < cases.height
    assert run_budget.cost == pytest.approx(replies(lake)["cost_usd"].sum())
    assert run_budget.cost <= 0.0026
    assert "cap of $0.0026" in str(tally.stopped)


async def test_models_that_are_batched_side_by_side_keep_to_one_cap(provider, ask, planned, target):
    other = target.model_copy(update={"model": "gateway/other"})
    planned(model=target)
    planned(model=other)
    run_budget = RunBudget(max_requests=10)
    await asyncio.gather(ask(run_budget=run_budget), ask(run_budget=run_budget, target=other))
    assert (sum(provider.asked().values()), run_budget.sent) == (10, 10)


async def test_who_waits_for_money_behind_a_running_batch_reports_it_once(provider, ask, planned, target):
    planned(model=target)
    run_budget, replied = RunBudget(max_cost=0.0026), list[str]()
    run_budget.notify = replied.append
    await ask(run_budget=run_budget)
    assert len(replied) == len(set(replied)) >= 1
    assert "of the cap of $0.0026 is reserved for batches under way" in replied[0]


async def test_a_provider_that_answers_500_is_described_at_its_first_failure(provider, ask, planned, target):
    planned(model=target)
    provider.then("POST", "/files", answers(500), answers(500), answers(500))
    replied: list[str] = []
    (tally,) = (await ask(waiting=replied.append)).values()
    assert tally.failed == 0
    (line,) = replied
    assert "500" in line
    assert line.endswith("tried again for up to 5 seconds")


async def test_what_one_batch_may_cost_is_not_there_for_another(provider, ask, lake, planned, target):
    other = target.model_copy(update={"model": "gateway/other"})
    planned(model=target)
    planned(model=other)
    run_budget = RunBudget(max_cost=0.0026)
    await asyncio.gather(ask(run_budget=run_budget), ask(run_budget=run_budget, target=other))
    assert 0 < run_budget.cost <= 0.0026
    assert replies(lake)["cost_usd"].sum() == pytest.approx(run_budget.cost)


async def test_a_reply_that_reports_nothing_of_its_tokens_is_charged_at_the_most_it_can_cost(
    provider, ask, lake, planned, target
):
    cases = planned(model=target)
    provider.then("GET", "/content", _telling_no_usage(cases))
    run_budget = RunBudget(max_cost=5.0)
    await ask(run_budget=run_budget)
    assert replies(lake)["cost_usd"].null_count() == cases.height
    most = [most_usd(to_request(case), target) / 2 for case in cases.iter_rows(named=True)]
    assert run_budget.cost == pytest.approx(sum(most))
    assert read_run_costs(lake, RUN, {target.model: target}).cost_usd == pytest.approx(sum(most))


def _telling_no_usage(cases: pl.DataFrame) -> Step:
    replied = {
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "No"}}]
    }
    return _bring_results(
        [
            {"custom_id": key, "response": {"status_code": 200, "body": replied}, "error": None}
            for key in cases["request_key"]
        ]
    )


async def test_a_batch_under_way_is_reserved_and_not_spent(provider, ask, lake, planned, target):
    planned(model=target)
    waiting = asyncio.Event()

    async def report_progress(progress: Progress) -> None:
        waiting.set()

    run_budget = RunBudget(max_cost=1.0)
    task = asyncio.create_task(ask("slow", report=report_progress, run_budget=run_budget))
    await waiting.wait()
    left = run_budget.cost_left or 0.0
    next_to = asyncio.create_task(run_budget.take((1.0 + left) / 2))
    await asyncio.sleep(0)
    assert (run_budget.cost, run_budget.reached, next_to.done()) == (0.0, None, False)
    assert 0 < left < 1.0
    await task
    assert await next_to is not None
    assert run_budget.cost == pytest.approx(replies(lake)["cost_usd"].sum())


async def test_no_one_waits_for_a_batch_whose_provider_stays_away(provider, ask, planned, target):
    cases = planned(model=target)
    provider.then("GET", "", *[answers(500)] * 200)
    run_budget = RunBudget(max_cost=1.0)
    await ask(run_budget=run_budget, outage_s=0.05)
    assert run_budget.sent == cases.height
    assert await run_budget.take(0.9999) is None
    assert "$0.00 was spent, $0.1" in str(run_budget.reached)
    assert "reserved for batches under way" in str(run_budget.reached)


async def test_batches_of_an_earlier_process_are_counted_before_anything_is_asked(
    provider, ask, lake, planned, target
):
    cases = planned(model=target)
    provider.then("GET", "", *[answers(500)] * 200)
    await ask(outage_s=0.05, target=target.model_copy(update={"batch": Batching(requests=8)}))
    provider.steps.clear()
    left = list(outstanding_jobs(lake, RUN, {target.model: target}, shares=True))
    assert sum(job.requests for job in left) == cases.height
    most = sum(most_usd(to_request(case), target) / 2 for case in cases.iter_rows(named=True))
    assert sum(job.most_usd for job in left) == pytest.approx(most)
    run_budget = RunBudget(max_cost=1.0)
    for job in left:
        run_budget.reserve_job(job.job_id, job.requests, job.most_usd)
    assert run_budget.cost_left == pytest.approx(1.0 - most)
    await ask(run_budget=run_budget)
    assert (run_budget.sent, run_budget.jobs) == (cases.height, {})
    assert run_budget.cost == pytest.approx(replies(lake)["cost_usd"].sum())
    assert list(outstanding_jobs(lake, RUN, {target.model: target}, shares=True)) == []


async def test_batches_that_are_under_way_count_against_the_caps_of_the_next_pass(
    provider, ask, lake, planned, target
):
    cases = planned(model=target)
    provider.then("GET", "", *[answers(500)] * 200)
    await ask(outage_s=0.05, target=target.model_copy(update={"batch": Batching(requests=8)}))
    provider.steps.clear()
    run_budget = RunBudget(max_requests=cases.height)
    await ask(run_budget=run_budget)
    assert (run_budget.sent, replies(lake).height) == (cases.height, cases.height)


async def test_no_key_is_in_the_lake_or_in_what_was_uploaded(provider, ask, lake, planned, target):
    planned(model=target)
    await ask()
    assert provider.keys == {f"Bearer {KEY}"}
    assert KEY not in json.dumps(provider.inputs) + json.dumps(provider.metadata)
    for table in ("jobs", "responses", "cells"):
        assert KEY not in str(lake.read(table, RUN).to_dicts())


def test_the_longest_wait_between_two_looks_is_the_users(monkeypatch):
    intervals = PollPolicy(first_s=1, longest_s=30).intervals()
    waits = [next(intervals) for _ in range(12)]
    assert (waits[0], waits[-1]) == (1, 30)
    assert waits == sorted(waits)
    monkeypatch.setenv("BIASGRID_BATCH_POLL_S", "0.2")
    assert next(PollPolicy.from_environment().intervals()) == 0.2
    monkeypatch.setenv("BIASGRID_BATCH_POLL_S", "soon")
    with pytest.raises(UserError, match="`soon` is no number of seconds"):
        PollPolicy.from_environment()


@pytest.mark.parametrize("seconds", ["0", "-1", "86400", "nan", "inf"])
def test_an_interval_that_is_no_part_of_a_day_is_refused(monkeypatch, seconds):
    monkeypatch.setenv("BIASGRID_BATCH_POLL_S", seconds)
    with pytest.raises(UserError, match=f"`{seconds}` is no number of seconds"):
        PollPolicy.from_environment()


def test_an_interval_of_half_a_second_or_of_nearly_a_day_is_taken(monkeypatch):
    for seconds in ("0.5", "86399.9"):
        monkeypatch.setenv("BIASGRID_BATCH_POLL_S", seconds)
        assert PollPolicy.from_environment().longest_s == float(seconds)
