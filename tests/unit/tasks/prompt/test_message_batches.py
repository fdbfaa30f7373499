"""A model is asked in Anthropic's batches, which have no metadata: whose a batch is stands in its results."""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.schema.models import Batching, Limits, Prices, Target
from biasgrid.tasks.connectors.batch import api
from biasgrid.tasks.connectors.client.retry import Backoff, PollPolicy
from biasgrid.tasks.prompt.batch.jobs import Job, unsettled_jobs
from biasgrid.tasks.prompt.batch.model import BatchOptions, batch_cells
from biasgrid.warehouse.storage.lake import Lake
from support.message_batches import MessageHub, errored, message_hub, succeeded

__all__ = ["message_hub"]
RUN = "01M00000000000000000000001"
KEY = "sk-ant-notakey7Qx2mZ84"


@pytest.fixture
def target(message_hub: MessageHub) -> Target:
    return Target(
        model="anthropic-sdk/m",
        provider="anthropic-sdk",
        name="m",
        connector="anthropic",
        base_url=message_hub.url,
        prices=Prices(input=1.0, output=5.0),
        limits=Limits(timeout_s=5),
        batch=Batching(),
        parameters=("temperature", "max_tokens"),
    )


@pytest.fixture
def ask(lake: Lake, target: Target) -> Callable[..., Any]:
    """Asks every planned cell of the run, as a process of its own would."""

    async def ask_all(target: Target = target, retries: int = 2, **given: Any) -> Any:
        batches = api.connect(target, KEY)
        cells = lake.read("cases", RUN)["cell_id"].unique(maintain_order=True).to_list()
        backoff = Backoff(first_s=0.001, longest_s=0.002, outage_s=0.05)
        patience = PollPolicy(first_s=0.01, longest_s=0.02, outage_s=2, backoff=backoff)
        try:
            return await batch_cells(
                lake, RUN, cells, target, batches, BatchOptions(retries=retries, patience=patience, **given)
            )
        finally:
            await batches.close()

    return ask_all


def replies(lake: Lake) -> pl.DataFrame:
    return lake.read("responses", RUN).filter(pl.col("text").is_not_null())


async def test_every_case_lands_with_its_own_reply_at_half_the_price(message_hub, ask, lake, planned, target):
    cases = planned(model=target)
    message_hub.result = lambda asked: succeeded(asked, asked["params"]["messages"][-1]["content"][::-1])
    (tally,) = (await ask()).values()
    assert (tally.answered, tally.failed) == (cases.height, 0)
    rows = replies(lake).join(cases, on="case_id", suffix="_asked")
    assert rows.height == cases.height > 10
    for row in rows.iter_rows(named=True):
        assert row["text"] == row["messages_asked"][-1]["content"][::-1]
        assert row["cost_usd"] == pytest.approx((11 * 1.0 + 7 * 5.0) / 2e6)
    (sent,) = message_hub.requests.values()
    assert sent[0]["params"]["temperature"] == 0.5
    assert "seed" not in sent[0]["params"]
    assert all(request.headers["anthropic-version"] for request in message_hub.received)
    assert [request.method for request in message_hub.received][-1] == "DELETE"
    assert unsettled_jobs(lake, RUN) == []


async def test_a_custom_id_names_job_and_request_within_the_providers_bounds(
    message_hub, ask, lake, planned, target
):
    planned(model=target)
    planned("strict", model=target)
    await ask(shares=False)
    (job,) = lake.newest("jobs", RUN)["job_id"]
    names = [request["custom_id"] for request in message_hub.all_requests]
    assert len(set(names)) == len(names) == replies(lake).height
    assert all(name.startswith(f"{job}-") for name in names)
    assert all(
        set(name) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") for name in names
    )


async def test_errors_that_may_pass_are_asked_again(message_hub, ask, lake, planned, target):
    cases = planned(model=target)
    results = [errored("overloaded_error"), {"type": "expired"}, errored("invalid_request_error", "too long")]
    once: Counter[str] = Counter()

    def result(asked: dict[str, Any]) -> dict[str, Any]:
        text = asked["params"]["messages"][-1]["content"]
        number = cases["messages"].list.last().struct.field("content").to_list().index(text)
        if number == 3:
            return succeeded(asked, "", "refusal")
        return results[number] if number == 2 or (number < 2 and asked["custom_id"] in first) else succeeded(asked)

    first: set[str] = set()
    add = message_hub.add

    def adding(requests: list[dict[str, Any]], created: datetime | None = None) -> dict[str, Any]:
        if not message_hub.batches:
            first.update(request["custom_id"] for request in requests)
        return add(requests, created)

    message_hub.add = adding  # type: ignore[method-assign]
    message_hub.result = result
    (tally,) = (await ask()).values()
    assert (tally.answered, tally.failed) == (cases.height - 1, 1)
    once.update(request["custom_id"].partition("-")[2] for request in message_hub.all_requests)
    assert sorted(once.values())[-3:] == [1, 2, 2]
    rows = lake.read("responses", RUN)
    (failed,) = rows.filter(pl.col("text").is_null()).to_dicts()
    assert (failed["error_class"], failed["attempts"]) == ("RequestRejected", 1)
    assert "too long" in failed["error_message"]
    assert rows.filter(pl.col("finish_reason") == "refusal")["text"].to_list() == [""]


async def test_a_batch_whose_creation_was_not_answered_is_found_and_not_created_twice(
    message_hub, ask, lake, planned, target
):
    cases = planned(model=target)
    message_hub.lost = 1
    (tally,) = (await ask()).values()
    assert tally.answered == cases.height
    assert len(message_hub.batches) == 1


async def test_the_batch_of_another_program_is_not_taken_for_ones_own(message_hub, ask, lake, planned, target):
    cases = planned(model=target)
    others = [{"custom_id": f"theirs-{n}", "params": {"model": "m"}} for n in range(cases.height)]
    message_hub.lost, message_hub.polls = 1, 2
    create, foreign = message_hub.create, []

    def meanwhile(requests: list[dict[str, Any]]) -> Any:
        reply = create(requests)
        if not foreign:
            foreign.append(message_hub.add(others)["id"])  # newer, of as many requests, and goes on as well
        return reply

    message_hub.create = meanwhile  # type: ignore[method-assign]
    (tally,) = (await ask()).values()
    assert (tally.answered, tally.failed) == (cases.height, 0)
    assert len(message_hub.batches) == 2
    assert set(replies(lake)["attempts"]) == {1}
    deleted = [request.path for request in message_hub.received if request.method == "DELETE"]
    assert not any(path.endswith(foreign[0]) for path in deleted)


@pytest.mark.parametrize("ended", [False, True])
async def test_a_killed_process_left_a_batch_that_the_next_one_collects(
    message_hub, ask, lake, planned, target, ended
):
    cases = planned(model=target)
    job = Job.new(RUN, target, cases["request_key"].to_list()).record(lake)
    others = [{"custom_id": f"theirs-{n}", "params": {"model": "m"}} for n in range(cases.height)]
    foreign = message_hub.add(others, datetime.now(UTC) - timedelta(minutes=1))
    message_hub.end(foreign["id"])
    api_of_the_dead = api.connect(target, KEY)
    sent = await _requests(api_of_the_dead, job, cases, target)
    await api_of_the_dead.close()
    left = message_hub.add(sent)
    if ended:
        message_hub.end(left["id"])
    await ask()
    assert replies(lake).height == cases.height
    assert len(message_hub.batches) == 2


async def _requests(batches: Any, job: Job, cases: pl.DataFrame, target: Target) -> list[dict[str, Any]]:
    """What a process had sent for a job."""
    named = batches.lines.keys_by_name(job.job_id, job.request_keys)
    messages = dict(cases.select("request_key", "messages").iter_rows())
    return [
        {"custom_id": name, "params": {"model": target.name, "messages": messages[key]}}
        for name, key in named.items()
    ]


async def test_a_wrong_key_stops_the_model_and_stands_nowhere(message_hub, ask, lake, planned, target):
    cases = planned(model=target)

    async def refuses(request: Any) -> Any:
        return message_hub.fail(401, "authentication_error", f"invalid x-api-key {KEY}")

    message_hub.instead = refuses
    (tally,) = (await ask()).values()
    assert tally.stopped is not None
    assert "key" in tally.stopped
    assert KEY not in tally.stopped
    assert lake.read("responses", RUN)["error_class"].to_list() == ["KeyRejected"] * cases.height
    assert message_hub.batches == {}


async def test_requests_go_into_as_many_batches_as_they_need(message_hub, ask, lake, planned, target):
    cases = planned(model=target)
    await ask(target.model_copy(update={"batch": Batching(requests=7)}))
    assert next(len(requests) for requests in message_hub.requests.values()) == 7
    assert len(message_hub.all_requests) == replies(lake).height == cases.height


def test_without_the_sdk_the_message_names_its_package(target, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "anthropic", None)
    for name in ("providers.anthropic", "batch.anthropic_batches"):
        monkeypatch.delitem(__import__("sys").modules, f"biasgrid.tasks.connectors.{name}", raising=False)
    with pytest.raises(UserError, match="connector `anthropic` needs the package `anthropic`"):
        api.connect(target, KEY)
