"""An order before it is sent: what it will take, and how what comes of it is named."""

import sys
from pathlib import Path
from typing import Any

import pytest

from biasgrid.catalogs.schema.models import Prices
from biasgrid.flows.finetuning.options import TuningOptions
from biasgrid.flows.finetuning.prepare import confirm, describe_order, outcome, prepare_tuning
from biasgrid.flows.forecast.confirmation import Declined
from biasgrid.tasks.finetuning.order import Order
from biasgrid.tasks.finetuning.tune import Job
from biasgrid.warehouse.storage.lake import Lake
from support.paths import TUNING_CATALOG


@pytest.fixture
def order(monkeypatch: pytest.MonkeyPatch) -> Order:
    monkeypatch.setenv("BIASGRID_CATALOG", str(TUNING_CATALOG))
    monkeypatch.setenv("OPENAI_API_KEY", "no-matter")
    found = prepare_tuning(TuningOptions(model="openai/gpt-4o-mini", variant="half")).order
    assert isinstance(found, Order)
    return found


def priced(order: Order, training: float) -> Order:
    prices = Prices(input=0, output=0, training=training)
    target = order.target.model_copy(update={"prices": prices})
    return Order(target, order.dataset, order.hyperparameters, order.suffix)


def job(order: Order, **changes: Any) -> Job:
    fields = {"state": "succeeded", "result_model": "ft:gpt-4o-mini:acme:own:1"} | changes
    new = Job.new(order.id, order.target)
    return Job(**{name: fields.get(name, getattr(new, name)) for name in Job.__dataclass_fields__})


def test_the_forecast_is_one_line_and_an_unknown_price_is_shown_as_such(order):
    epochs = order.hyperparameters.n_epochs
    assert epochs == 3
    examples = order.dataset.card["train"]
    assert describe_order(order) == (
        f"openai/gpt-4o-mini: {examples} examples × 3 epochs, about {order.tokens:,} tokens, price unknown"
    )
    cost = priced(order, 1_000_000).cost_usd
    assert cost == order.tokens
    assert describe_order(priced(order, 1_000_000)).endswith(f"about ${order.tokens:,}.00")


def test_confirmation_is_asked_where_the_price_is_high_or_unknown(order, tmp_path, monkeypatch):
    lake = Lake.open(tmp_path / "data")
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(sys.stdin, "readline", lambda *_: "n\n")
    for dear in (order, priced(order, 1_000_000)):
        with pytest.raises(Declined):
            confirm(dear, lake, yes=False)
        confirm(dear, lake, yes=True)
    confirm(priced(order, 0.001), lake, yes=False)


def test_no_confirmation_is_asked_for_a_finished_order(order, tmp_path, capsys):
    lake = Lake.open(tmp_path / "data")
    job(order).record(lake)
    confirm(order, lake, yes=False)
    assert "is done, and is not sent again" in capsys.readouterr().err


def test_what_came_of_it_is_named_as_scenarios_name_models(order):
    found = outcome(order, job(order), Path("folder"))
    assert (found.exit_code, found.model) == (0, "openai/ft:gpt-4o-mini:acme:own:1")
    assert "--model openai/ft:gpt-4o-mini:acme:own:1" in found.how


def test_a_model_at_azure_has_to_be_deployed_before_it_has_a_name(order):
    target = order.target.model_copy(update={"provider": "azure", "connector": "azure"})
    at_azure = Order(target, order.dataset, order.hyperparameters, order.suffix)
    found = outcome(at_azure, job(at_azure, result_model="gpt-4o-mini.ft-1"), Path("folder"))
    assert (found.exit_code, found.model) == (0, None)
    assert "deploy `gpt-4o-mini.ft-1` at Azure" in found.how


def test_where_nothing_came_of_it_the_reason_and_the_exit_code_say_so(order):
    failed = job(order, state="failed", result_model=None, error_message="no luck")
    found = outcome(order, failed, Path("folder"))
    assert (found.exit_code, found.model, found.why) == (3, None, "no luck")


def test_the_same_order_has_the_same_id_and_another_address_another(order):
    assert prepare_tuning(TuningOptions(model="openai/gpt-4o-mini", variant="half")).order == order
    elsewhere = order.target.model_copy(update={"base_url": "http://127.0.0.1:9/v1"})
    assert Order(elsewhere, order.dataset, order.hyperparameters, order.suffix).id != order.id
