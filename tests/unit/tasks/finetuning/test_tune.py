"""A model is tuned at a provider: what is sent, what lands, and that nothing is paid twice whatever happens."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from biasgrid.catalogs.choices import Variant
from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.api import ConnectorError
from biasgrid.tasks.connectors.batch.fine_tuning import Hyperparameters, connect
from biasgrid.tasks.connectors.client.retry import Backoff, PollPolicy, Unreachable
from biasgrid.tasks.finetuning.dataset import dataset
from biasgrid.tasks.finetuning.order import EPOCHS, Order
from biasgrid.tasks.finetuning.tune import Job, tune
from biasgrid.warehouse.storage.lake import Lake

PATIENCE = PollPolicy(first_s=0.02, longest_s=0.05, outage_s=5, backoff=Backoff(first_s=0.01, longest_s=0.02))
Tuned = Callable[..., Job]
JOBS = "/fine_tuning/jobs"


class Killed(BaseException):
    """Where a process ends."""


@pytest.fixture
def order(workshop: Catalog, gateway: Any) -> Callable[..., Order]:
    def make(model: str = "leaning", variant: Variant = "full", connector: str = "openai", **more: Any) -> Order:
        url = gateway.url if connector == "azure" else f"{gateway.url}/v1"
        target = Target(
            model=f"{connector}/{model}",
            provider=connector,
            name=model,
            connector=connector,
            base_url=url,
            api_version="2024-10-21",
            tunes=more.pop("tunes", True),
        )
        made = dataset(workshop, variant, ("en_us",), more.pop("seed", 3))
        return Order(target, made, Hyperparameters(EPOCHS[variant], **more), f"biasgrid-{variant}")

    return make


@pytest.fixture
def tuned(lake: Lake) -> Tuned:
    def run(
        ordered: Order,
        report: Callable[[str], None] = lambda _: None,
        patience: PollPolicy = PATIENCE,
        until: Callable[[], object] = lambda: False,
    ) -> Job:
        """`until`: when it is cancelled, if it has not ended."""

        async def work() -> Job:
            tunings = connect(ordered.target, "sk-a-key")
            tuning = asyncio.create_task(tune(lake, ordered, tunings, patience, report))
            while not tuning.done() and not until():  # noqa: ASYNC110 - the gateway has a thread of its own
                await asyncio.sleep(0.01)
            await asyncio.wait([tuning], timeout=0.1)
            tuning.cancel()
            try:
                return await tuning
            finally:
                await tunings.close()

        return asyncio.run(work())

    return run


def states(lake: Lake, order: Order) -> list[str]:
    return list(lake.read("jobs", order.id).sort("event_id")["state"])


def test_a_model_comes_of_it_that_is_stored_in_the_lake_with_what_it_was_trained_on(order, tuned, lake, gateway):
    ordered, messages = order(learning_rate_multiplier=0.5), list[str]()
    job = tuned(ordered, messages.append)
    assert job.state == "succeeded"
    assert (job.result_model or "").startswith("ft:leaning:biasgrid:biasgrid-full:")
    assert states(lake, ordered)[0] == "submitting"
    assert states(lake, ordered)[-1] == "succeeded"
    assert lake.newest("jobs", ordered.id)["result_model"].to_list() == [job.result_model]
    (sent,) = gateway.created
    assert sent["seed"] == 3
    assert sent["metadata"] == {"biasgrid_job": job.job_id}
    assert sent["method"]["supervised"] == {"hyperparameters": {"n_epochs": 4, "learning_rate_multiplier": 0.5}}
    folder = lake.root / "tuned" / ordered.id
    assert (folder / "train.jsonl").read_bytes() == ordered.dataset.train
    card = json.loads((folder / "card.json").read_bytes())
    assert (card["model"], card["base"]) == (job.result_model, "openai/leaning")
    assert card["trained_tokens"] > 1000
    assert messages[0].startswith("Created fine-tuning job")
    assert next(line for line in messages if "loss" in line) == "Step 1/4: training loss=1.00"
    assert len(messages) == len(set(messages))


def test_the_files_do_not_stay_at_the_provider(order, tuned, gateway):
    tuned(order())
    assert sum(method == "DELETE" for method, _ in gateway.calls) == gateway.count("POST", "/files") == 2


def test_the_same_order_is_not_paid_twice_and_another_one_is(order, tuned, gateway):
    first = tuned(order())
    sent = len(gateway.calls)
    assert tuned(order()).result_model == first.result_model
    assert len(gateway.calls) == sent
    for other in (order(variant="half"), order(seed=4), order(batch_size=2)):
        assert tuned(other).result_model != first.result_model
    assert gateway.count("POST", JOBS) == 4


def test_azure_is_sent_what_its_api_knows(order, tuned, gateway):
    job = tuned(order(connector="azure"))
    assert job.state == "succeeded"
    (sent,) = gateway.created
    assert set(sent) == {"model", "training_file", "validation_file", "seed", "suffix", "hyperparameters"}
    assert sent["hyperparameters"] == {"n_epochs": 4}


@pytest.mark.parametrize("path", ["/files", JOBS])
def test_what_fails_for_a_moment_is_tried_again(order, tuned, gateway, steps, path):
    gateway.then("POST", path, steps.answers(500), steps.answers(429))
    assert tuned(order()).state == "succeeded"


def test_a_job_whose_creation_was_not_confirmed_is_found_and_not_created_again(order, tuned, gateway, steps):
    gateway.then("POST", JOBS, steps.loses_the_answer())
    assert tuned(order()).state == "succeeded"
    assert gateway.count("POST", JOBS) == 1


@pytest.mark.parametrize("connector", ["openai", "azure"])
def test_a_process_that_ends_while_its_job_is_created_finds_it_again(
    order, tuned, gateway, steps, lake, connector
):
    ordered = order(connector=connector)
    gateway.then("POST", JOBS, steps.never_answers())
    with pytest.raises(asyncio.CancelledError):
        tuned(ordered, until=lambda: gateway.created)
    assert states(lake, ordered) == ["submitting", "submitting"]
    assert tuned(ordered).state == "succeeded"
    assert gateway.count("POST", JOBS) == 1


def test_a_process_that_is_killed_while_it_waits_continues_with_its_job(order, tuned, gateway):
    def killed(words: str) -> None:
        raise Killed

    with pytest.raises(Killed):
        tuned(order(), killed)
    assert tuned(order()).state == "succeeded"
    assert gateway.count("POST", JOBS) == 1
    assert gateway.count("POST", "/files") == 2


def test_a_job_that_fails_has_a_reason_and_the_same_order_may_be_tried_anew(order, tuned, lake, gateway):
    ordered = order("failing")
    for attempt in (1, 2):
        job = tuned(ordered)
        assert (job.state, job.error_message) == ("failed", "The job failed due to an internal error.")
        assert job.result_model is None
        assert gateway.count("POST", JOBS) == attempt
    assert not (lake.root / "tuned" / ordered.id / "card.json").exists()


def test_a_file_that_the_provider_finds_invalid_fails_with_its_words(workshop, order, tuned):
    ordered = order()
    few = b"".join(ordered.dataset.train.splitlines(keepends=True)[:3])
    poor = type(ordered.dataset)(**{**vars(ordered.dataset), "train": few})
    job = tuned(Order(ordered.target, poor, ordered.hyperparameters, "few"))
    assert job.state == "failed"
    assert "invalid training file" in (job.error_message or "")
    assert "3 example(s)" in (job.error_message or "")


def test_a_model_that_is_unknown_is_refused_and_leaves_no_files(order, tuned, gateway, lake):
    job = tuned(order("absent"))
    assert job.state == "rejected"
    assert "not available for fine-tuning" in (job.error_message or "")
    assert sum(method == "DELETE" for method, _ in gateway.calls) == 2


def test_a_wrong_key_is_reported(order, tuned, gateway, steps):
    gateway.then("POST", "/files", steps.answers(401, code="invalid_api_key"))
    job = tuned(order())
    assert (job.state, job.input_file_id) == ("rejected", None)
    assert "the key was rejected" in (job.error_message or "")


def test_a_provider_that_stays_away_leaves_the_job_to_be_gone_on_with(order, tuned, gateway, steps, lake):
    hasty = PollPolicy(first_s=0.02, longest_s=0.02, outage_s=0.1, backoff=PATIENCE.backoff, remedy="ask again")
    gateway.then("POST", JOBS, *[steps.answers(503)] * 50)
    with pytest.raises(Unreachable, match="goes on: ask again"):
        tuned(order(), patience=hasty)
    gateway.steps.clear()
    assert tuned(order()).state == "succeeded"


def test_a_job_that_the_provider_no_longer_knows_is_lost(order, tuned, gateway, lake):
    def killed(words: str) -> None:
        raise Killed

    with pytest.raises(Killed):
        tuned(order("slow"), killed)
    newest = lake.newest("jobs").row(0, named=True)
    names = Job.__dataclass_fields__
    gone = Job(**{name: newest[name] for name in names} | {"provider_job_id": "ftjob-gone", "input_file_id": "x"})
    gone.record(lake)
    gateway.app = _without_metadata(gateway.app)
    job = tuned(order("slow"))
    assert job.state == "lost"
    assert "knows no fine-tuning job ftjob-gone" in (job.error_message or "")


def _without_metadata(app: Any) -> Any:
    """The provider as another account sees it: with no jobs."""

    async def emptied(scope: Any, receive: Any, send: Any) -> None:
        from starlette.responses import JSONResponse

        if scope["path"].endswith(JOBS):
            await JSONResponse({"object": "list", "data": [], "has_more": False})(scope, receive, send)
        else:
            await app(scope, receive, send)

    return emptied


def test_a_provider_that_tunes_nothing_is_a_mistake_before_anything_is_sent(order):
    with pytest.raises(UserError, match="cannot be fine-tuned"):
        connect(order(tunes=False).target, None)


def test_every_failure_of_the_wire_is_one_that_callers_know(order, gateway, steps):
    async def ask() -> None:
        tunings = connect(order().target, "sk-a-key")
        try:
            await tunings.retrieve("ftjob-absent")
        finally:
            await tunings.close()

    for status in (400, 404, 500):
        gateway.then("GET", f"{JOBS}/ftjob-absent", steps.answers(status))
        with pytest.raises(ConnectorError):
            asyncio.run(ask())
