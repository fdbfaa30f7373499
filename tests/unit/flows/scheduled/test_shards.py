"""What each machine of a night is given: its models, and its share of the caps. Links to a shard's run: relative
to the UI in which they are read, or to the configured UI.
"""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import polars as pl
import pytest
from prefect.client.schemas.objects import FlowRun
from prefect.settings import PREFECT_API_URL, PREFECT_UI_URL, temporary_settings

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.scenario.scenario import resolve
from biasgrid.flows.scheduled.flow import address
from biasgrid.flows.scheduled.shards import part_of, shards

CELLS = pl.DataFrame(
    {
        "provider": ["a", "a", "b", "a"],
        "model": ["a/small", "a/large", "b/one", "a/large"],
        "planned": [10, 30, 25, 30],
    }
)
SIMULATED = ["simulated/fair", "simulated/biased"]


@pytest.fixture
def resolved(scenario: Callable[..., dict[str, Any]]) -> Callable[..., Any]:
    return lambda models=("simulated/fair",), **settings: resolve(scenario(list(models), **settings))


def test_a_shard_per_model_the_longest_first(resolved):
    assert [(shard.models, shard.planned) for shard in shards(CELLS, resolved())] == [
        (("a/large",), 60),
        (("b/one",), 25),
        (("a/small",), 10),
    ]


def test_a_shard_per_provider(resolved):
    found = shards(CELLS, resolved(), "provider")
    assert [(shard.models, shard.planned, shard.title) for shard in found] == [
        (("a/large", "a/small"), 70, "large and 1 more"),
        (("b/one",), 25, "one"),
    ]


def test_a_part_has_the_same_name_whenever_it_is_handed_out():
    assert part_of(["a/x", "b/y"]) == part_of(("b/y", "a/x")) != part_of(["a/x"])


def planned_rows(models: list[str]) -> pl.DataFrame:
    return pl.DataFrame({"provider": "simulated", "model": models, "planned": 10})


def test_what_shards_may_send_together_is_what_the_run_may(resolved):
    made = shards(planned_rows(SIMULATED), resolved(SIMULATED, max_requests=101))
    assert [shard.max_requests for shard in made] == [51, 50]
    assert [shard.max_cost for shard in made] == [None, None]


def test_one_shard_of_all_may_send_all(resolved):
    ids = ("fair", "biased", "constant-no", "constant-yes", "noisy", "refuser")
    names = [f"simulated/{respondent}" for respondent in ids]
    (made,) = shards(planned_rows(names), resolved(names, max_requests=100), "provider")
    assert made.max_requests == 100


def test_without_caps_a_shard_has_none(resolved):
    (made,) = shards(planned_rows(SIMULATED[:1]), resolved())
    assert (made.max_requests, made.max_cost) == (None, None)


def test_a_cap_that_leaves_a_model_nothing_is_a_mistake(resolved):
    with pytest.raises(UserError, match="max_requests: 1` leaves no request for `simulated/"):
        shards(planned_rows(SIMULATED), resolved(SIMULATED, max_requests=1))


def test_money_goes_to_models_by_what_they_are_expected_to_cost(resolved, overlay):
    prices = {"cheap": 1.0, "dear": 3.0, "free": 0.0}
    overlay(
        {
            "providers": {
                "gateway": {"connector": "openai", "base_url": "http://127.0.0.1:9/v1", "models": "any"}
            },
            "models": {
                f"gateway/{name}": {"prices": {"input": price, "output": price}} for name, price in prices.items()
            },
        }
    )
    models = [f"gateway/{name}" for name in prices]
    made = shards(planned_rows(models), resolved(models, max_cost=8.0))
    shares = {shard.models[0]: shard.max_cost for shard in made}
    assert shares == {"gateway/cheap": pytest.approx(2), "gateway/dear": pytest.approx(6), "gateway/free": 8.0}


RUN = FlowRun(flow_id=uuid4(), name="shard · fair")


def test_a_link_stays_in_the_ui_whatever_address_the_worker_knows_it_by():
    with temporary_settings({PREFECT_API_URL: "http://server.internal:4200/api"}):
        assert address(RUN) == f"/runs/flow-run/{RUN.id}"


def test_where_people_have_an_address_of_their_own_it_leads_there():
    settings = {PREFECT_API_URL: "http://server.internal:4200/api", PREFECT_UI_URL: "https://runs.example.org/"}
    with temporary_settings(settings):
        assert address(RUN) == f"https://runs.example.org/runs/flow-run/{RUN.id}"
