"""A run whose caps are below its plan: every model has its share, and what one leaves goes to the others."""

import polars as pl
import pytest

from biasgrid.catalogs.scenario.scenario import resolve
from biasgrid.flows.api import Benchmark
from biasgrid.flows.benchmark.forecast import forecast
from support.http_server import address_of, listening

pytestmark = [pytest.mark.drill, pytest.mark.usefixtures("prefect_api")]
MODELS = ["simulated/fair", "simulated/biased", "simulated/noisy"]
CAP = 100
WIDE = {"inputs": ["constrained", "verbose"]}


@pytest.fixture
def capped(scenario, requirement, landed, tmp_path):
    """Attempts and replies by model of a run of these models, and what was forecast of it."""

    def run(models, **settings):
        asked = scenario(models, [requirement(**WIDE)], **settings)
        found = Benchmark(asked, data=tmp_path).run()
        rows = landed(tmp_path, found.run_id).table("responses")
        sums = rows.group_by("model").agg(pl.col("attempts").sum(), pl.col("text").count().alias("replies"))
        return landed(tmp_path, found.run_id), {row["model"]: row for row in sums.to_dicts()}, asked

    return run


def test_shares_are_alike_and_the_forecast_names_the_cells_that_are_left_out(capped):
    run, sums, asked = capped(MODELS, samples=2, max_requests=CAP)
    assert sorted(row["replies"] for row in sums.values()) == [CAP // 3, CAP // 3, CAP // 3 + 1]
    assert sum(row["attempts"] for row in sums.values()) == CAP
    cells = run.lake.newest("cells", run.run_id)
    lacking = cells.filter(pl.col("answered") + pl.col("reused") < pl.col("planned"))
    named = {
        (model, name.removesuffix(" (in part)"))
        for model, names in forecast(resolve(asked)).left_out.items()
        for name in names
    }
    columns = ("model", "requirement", "language", "input", "reflection")
    assert {(model, " · ".join(rest)) for model, *rest in lacking.select(columns).iter_rows()} == named
    assert 0 < lacking.height < cells.height


@pytest.mark.drill
def test_what_a_model_without_a_key_leaves_goes_to_the_others(capped, overlay, monkeypatch):
    monkeypatch.setenv("GONE_API_KEY", "sk-old")
    with listening(lambda *_: (401, {"Content-Type": "application/json"}, b"{}")) as server:
        provider = {"connector": "openai", "base_url": f"{address_of(server)}/v1", "models": "any"}
        overlay({"providers": {"gone": provider | {"key_env": ["GONE_API_KEY"]}}})
        _, sums, _ = capped([*MODELS[:2], "gone/x"], samples=2, max_requests=60)
    assert sum(row["attempts"] for row in sums.values()) == 60
    assert (sums["gone/x"]["replies"], sums["gone/x"]["attempts"]) == (0, 1)
    assert {sums[name]["replies"] for name in MODELS[:2]} == {29, 30}


@pytest.mark.drill
def test_a_judge_has_a_share_too(capped):
    _, sums, _ = capped([*MODELS[:2]], samples=2, max_requests=60, judge="simulated/judge-good")
    assert sum(row["attempts"] for row in sums.values()) == 60
    assert sums["simulated/judge-good"]["replies"] > 5
