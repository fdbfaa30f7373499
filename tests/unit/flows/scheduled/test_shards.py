"""What each machine of a night is given: its models, and its share of the caps. Links to a shard's run: relative
to the UI in which they are read, or to the configured UI.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import uuid4

import polars as pl
import pytest
from prefect.client.schemas.objects import FlowRun
from prefect.settings import PREFECT_API_URL, PREFECT_UI_URL, temporary_settings

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.scenario.scenario import ResolvedScenario, resolve
from biasgrid.catalogs.schema.models import Limits
from biasgrid.flows.scheduled.blocks import Basis, Pace
from biasgrid.flows.scheduled.flow import address
from biasgrid.flows.scheduled.shards import part_of, shards

SIMULATED = ["simulated/fair", "simulated/biased"]
ASKED = ["a/small", "a/large", "b/one"]
CELLS = pl.DataFrame(
    {
        "cell_id": ["c1", "c2", "c3", "c4"],
        "provider": ["a", "a", "b", "a"],
        "model": ["a/small", "a/large", "b/one", "a/large"],
        "input": "constrained",
        "planned": [10, 30, 25, 30],
    }
)


@pytest.fixture
def resolved(scenario: Callable[..., dict[str, Any]]) -> Callable[..., Any]:
    return lambda models=("simulated/fair",), **settings: resolve(scenario(list(models), **settings))


@pytest.fixture
def resolve_at(overlay: Callable[[dict[str, Any]], None], resolved: Callable[..., Any]) -> Callable[..., Any]:
    """A scenario of models at two providers, each with so many requests at once."""

    def make(concurrency: int = 4, models: list[str] = ASKED, **settings: Any) -> ResolvedScenario:
        provider = {"connector": "openai", "base_url": "http://127.0.0.1:9/v1", "models": "any"}
        limits = {"limits": {"concurrency": concurrency}}
        overlay({"providers": dict.fromkeys("ab", provider | limits)})
        found: ResolvedScenario = resolved(models, **settings)
        return found

    return make


def planned_cells(count: int, planned: int, model: str = "a/large") -> pl.DataFrame:
    own = {"cell_id": [f"{model} {number}" for number in range(count)], "planned": planned}
    return pl.DataFrame(own | {"provider": model[0], "model": model, "input": "constrained"})


def test_little_is_a_shard_per_model_the_longest_first(resolve_at):
    assert [(shard.models, shard.planned, shard.cells) for shard in shards(CELLS, resolve_at())] == [
        (("a/large",), 60, ()),
        (("b/one",), 25, ()),
        (("a/small",), 10, ()),
    ]


def test_a_shard_per_provider(resolve_at):
    found = shards(CELLS, resolve_at(), "provider")
    assert [(shard.models, shard.planned, shard.title) for shard in found] == [
        (("a/large", "a/small"), 70, "large and 1 more"),
        (("b/one",), 25, "one"),
    ]


PACE = Basis(paces={"a/large": Pace(0.1, 30)})


def test_a_large_model_is_split_into_blocks_of_five_to_ten_minutes(resolve_at):
    cells = planned_cells(28, 3000)  # 84,000 replies of 0.1 s, four at once: 2,100 s
    made = shards(cells, resolve_at(), basis=PACE)
    assert all(300 <= shard.seconds <= 600 for shard in made)
    assert [shard.title for shard in made] == [f"large · {nth} of 4" for nth in (1, 2, 3, 4)]
    assert [cell for shard in made for cell in shard.cells] == cells["cell_id"].to_list()


def test_titles_of_many_blocks_sort_as_the_blocks_do(resolve_at):
    made = shards(planned_cells(28, 10_000), resolve_at(), basis=PACE)
    in_order = sorted(made, key=lambda shard: int(shard.cells[0].rpartition(" ")[2]))
    assert len(made) > 9
    assert sorted(shard.title for shard in made) == [shard.title for shard in in_order]


def test_where_a_limit_feeds_several_processes_none_is_left_without_a_block(resolve_at):
    basis = replace(PACE, limits={"a": 16})
    made = shards(planned_cells(28, 1428), resolve_at(), basis=basis)  # 40,000 replies: 1,000 s
    assert {shard.fed for shard in made} == {4}
    assert Counter(len(shard.cells) for shard in made) == {3: 4, 4: 4}


def test_without_earlier_replies_their_time_is_assumed(resolve_at):
    (made,) = shards(planned_cells(1, 100), resolve_at())
    assert made.seconds == pytest.approx(100 * (0.5 + 10 / 60) / 4, rel=0.1)


def test_a_limit_per_minute_makes_blocks_longer_and_feeds_one_process(resolve_at, overlay):
    resolved = resolve_at()
    slow = {"concurrency": 16, "requests_per_minute": 60}
    target = replace_target(resolved, slow)
    made = shards(planned_cells(10, 120), target, basis=PACE)
    assert [(shard.seconds, shard.fed) for shard in made] == [(600, 1), (600, 1)]


def test_what_asks_alike_stays_in_one_block(resolve_at):
    cells = planned_cells(4, 12_000)
    ids = cells["cell_id"].to_list()
    made = shards(cells, resolve_at(), basis=replace(PACE, linked=[[ids[0], ids[3]]]))
    assert [shard.cells for shard in made] == [(ids[0], ids[3]), (ids[1], ids[2])]


def test_blocks_that_were_handed_out_before_stay_as_they_are(resolve_at):
    cells = planned_cells(6, 24_000)
    ids = cells["cell_id"].to_list()
    made = shards(cells, resolve_at(), basis=replace(PACE, handed=[(("a/large",), (ids[1], ids[2]))]))
    assert {shard.cells for shard in made} == {(ids[1], ids[2]), (ids[0],), (ids[3],), (ids[4],), (ids[5],)}


def test_a_shard_of_a_whole_model_that_was_handed_out_before_stays_whole(resolve_at):
    (made,) = shards(planned_cells(6, 24_000), resolve_at(), basis=replace(PACE, handed=[(("a/large",), ())]))
    assert (made.part, made.planned) == (part_of(["a/large"]), 144_000)


def test_blocks_share_the_cap_of_their_model(resolve_at):
    resolved = resolve_at(models=["a/large"], max_requests=120_000)
    made = shards(planned_cells(6, 24_000), resolved, basis=PACE)
    assert sum(shard.max_requests for shard in made) == 120_000
    assert {shard.max_requests for shard in made} == {20_000}


def test_what_a_cap_leaves_is_little_and_not_split(resolve_at, overlay):
    resolved = resolve_at(models=["a/large"], max_requests=1)
    assert [shard.cells for shard in shards(planned_cells(6, 24_000), resolved, basis=PACE)] == [()]


def test_a_part_has_the_same_name_whenever_it_is_handed_out():
    assert part_of(["a/x", "b/y"]) == part_of(("b/y", "a/x")) != part_of(["a/x"])


def planned_rows(models: list[str]) -> pl.DataFrame:
    own = {"provider": [model.partition("/")[0] for model in models], "model": models, "cell_id": models}
    return pl.DataFrame(own | {"input": "constrained", "planned": 10})


def replace_target(resolved: ResolvedScenario, limits: dict[str, int]) -> ResolvedScenario:
    """The scenario with other limits of its models."""
    slow = {
        name: target.model_copy(update={"limits": Limits(**limits)}) for name, target in resolved.targets.items()
    }
    return replace(resolved, targets=slow)


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
