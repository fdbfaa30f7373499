"""The forecast against the formulas behind it, and against what a server counts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from biasgrid.catalogs.coverage import CELLS
from biasgrid.catalogs.scenario.scenario import ResolvedScenario, resolve
from biasgrid.catalogs.schema.models import Batching, Limits, Prices, Target
from biasgrid.flows.benchmark.forecast import forecast, forecast_rest
from biasgrid.flows.forecast.model import JudgeForecast, Load, seconds
from biasgrid.flows.forecast.reply_estimates import (
    ENOUGH,
    FIRST_TOKEN_S,
    MOST_TOKENS,
    REPLY_TOKENS,
    THINKING_TOKENS,
    expected_reply,
    most_tokens,
)
from biasgrid.flows.forecast.totals import Forecast
from biasgrid.flows.forecast.view import describe_judge
from biasgrid.tasks.connectors.client.model_pool import ModelPool
from biasgrid.tasks.connectors.usage import estimate_tokens
from biasgrid.tasks.generate.cases import land_cases
from biasgrid.tasks.generate.instantiate import instances
from biasgrid.tasks.prompt.prompt import prompt_cell
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import begin_run, record_planned

Asked = Callable[..., ResolvedScenario]
BOTH = ("verbose", "constrained")


@pytest.fixture
def asked(scenario: Any, requirement: Any, monkeypatch: pytest.MonkeyPatch) -> Asked:
    """A scenario of one requirement: `asked(model, …, inputs=(…), **settings)`."""
    monkeypatch.setenv("OPENAI_API_KEY", "no-matter")
    monkeypatch.delenv("BIASGRID_CATALOG", raising=False)

    def make(
        *models: str, times: int = 1, inputs: tuple[str, ...] = ("constrained",), **settings: Any
    ) -> ResolvedScenario:
        wanted = [requirement(name=f"alike-{number}", inputs=list(inputs)) for number in range(times)]
        return resolve(scenario(list(models), wanted, **settings))

    return make


def texts(resolved: ResolvedScenario) -> list[str]:
    settings = resolved.settings
    frames = [instances(requirement, "en_us", resolved.catalog, settings) for requirement in resolved.requirements]
    return pl.concat(frames)["text"].to_list()


def test_every_sample_of_every_prompt_is_a_request_to_every_model(asked):
    resolved = asked("simulated/fair", "simulated/biased", samples=3)
    expected = forecast(resolved)
    assert expected.instances == len(texts(resolved))
    assert expected.by_model == dict.fromkeys(("simulated/fair", "simulated/biased"), 3 * expected.instances)
    assert expected.requests == 6 * expected.instances


def test_what_two_requirements_ask_alike_is_sent_once(asked):
    once, twice = (forecast(asked("simulated/fair", templates=999, times=times)) for times in (1, 2))
    assert twice.instances == 2 * once.instances
    assert (twice.requests, twice.input_tokens) == (once.requests, once.input_tokens)
    each = forecast(asked("simulated/fair", templates=999, times=2, reuse="none"))
    assert each.requests == 2 * once.requests


def test_cells_follow_the_catalogs_order_whatever_the_scenarios(asked):
    expected = forecast(asked("simulated/fair", times=2, inputs=BOTH))
    cells = [(cell["requirement"], cell["input"], cell["reflection"]) for cell in expected.by_cell]
    assert cells == [(name, *cell) for name in ("alike-0", "alike-1") for cell in CELLS]


def test_money_is_tokens_at_list_price_and_a_batch_takes_its_discount_off(asked):
    expected = forecast(asked("openai/gpt-4o")).models["openai/gpt-4o"]
    assert expected.cost_usd == pytest.approx((expected.input_tokens * 2.5 + expected.output_tokens * 10) / 1e6)
    assert expected.cost_most_usd == pytest.approx(
        (expected.input_tokens * 2.5 + expected.most_output_tokens * 10) / 1e6
    )
    batched = forecast(asked("openai/gpt-4o", batch=True)).models["openai/gpt-4o"]
    assert batched.batch
    assert batched.cost_usd == pytest.approx(expected.cost_usd / 2)


def test_a_chatbot_costs_what_each_of_its_messages_does(asked, tmp_path, monkeypatch):
    (tmp_path / "endpoints").mkdir()
    bot = 'id: bot\nurl: http://b.example\nbody: {m: "{message}"}\nusd_per_request: 0.25\n'
    (tmp_path / "endpoints" / "bot.yaml").write_text(bot, encoding="utf-8")
    monkeypatch.setenv("BIASGRID_CATALOG", str(tmp_path))
    expected = forecast(asked("endpoint/bot"))
    assert expected.cost_usd == expected.cost_most_usd == expected.requests * 0.25


def test_a_brief_forecast_counts_exactly_only_what_money_hangs_on(asked):
    resolved = asked("openai/gpt-4o", "vllm/any")
    whole, brief = forecast(resolved), forecast(resolved, brief=True)
    assert brief.models["openai/gpt-4o"] == whole.models["openai/gpt-4o"]
    free, same = brief.models["vllm/any"], whole.models["vllm/any"]
    assert (free.requests, free.seconds, free.cost_usd) == (same.requests, same.seconds, None)
    assert free.input_tokens == sum(estimate_tokens(text) for text in texts(resolved))


def test_one_unknown_price_leaves_the_sum_unknown(asked):
    expected = forecast(asked("openai/gpt-4o", "vllm/any", "simulated/fair"))
    assert (expected.cost_usd, expected.cost_most_usd) == (None, None)
    assert expected.cost_by_model["vllm/any"] is None
    assert expected.cost_by_model["simulated/fair"] == 0


def test_replies_are_as_long_as_assumed_and_never_longer_than_allowed():
    def output(kind: str, max_tokens: int | None, *parameters: str) -> tuple[float, int]:
        target = load("a/1", 0, 0, 0).target.model_copy(update={"parameters": parameters})
        return expected_reply(target, kind, max_tokens, {}).tokens, most_tokens(target, max_tokens)

    assert output("verbose", 1000, "max_tokens") == (REPLY_TOKENS["verbose"], 1000)
    assert output("verbose", 60, "max_tokens") == (60, 60)
    assert output("constrained", 60, "max_tokens") == (REPLY_TOKENS["constrained"], 60)
    assert output("constrained", None, "max_tokens")[1] == MOST_TOKENS
    assert output("constrained", 60) == (REPLY_TOKENS["constrained"] + THINKING_TOKENS, MOST_TOKENS)


def test_a_judge_is_forecast_at_its_most_and_separately(asked):
    expected = forecast(asked("openai/gpt-4o", samples=2, judge="openai/gpt-4o-mini"))
    assert expected.judge is not None
    controls = expected.judge.control_requests
    assert 0 < expected.judge.most_requests - controls <= expected.requests
    assert expected.judge.most_input_tokens > expected.input_tokens
    assert expected.cost_by_model.keys() == {"openai/gpt-4o"}
    assert expected.judge.cost_most_usd == pytest.approx(
        (expected.judge.most_input_tokens * 0.15 + expected.judge.most_output_tokens * 0.6) / 1e6
    )


def test_a_judge_of_a_sample_is_forecast_at_the_most_of_it(asked):
    def forecast_judge(**settings: Any) -> JudgeForecast:
        own = {"samples": 50, "judge": "openai/gpt-4o-mini", "judge_overrules": False, **settings}
        expected = forecast(asked("openai/gpt-4o", **own)).judge
        assert expected is not None
        return expected

    all_fails = forecast_judge(judge_sample={"passed": 0})
    both = forecast_judge()
    few = forecast_judge(judge_sample={"passed": 0.1, "failed": 0.2})
    assert both.most_requests == all_fails.most_requests
    assert (all_fails.requests_if_all_pass, both.requests_if_all_pass) == (0, round(0.1 * both.most_requests))
    assert 0.2 < few.most_requests / all_fails.most_requests < 0.35
    assert few.cost_most_usd is not None
    assert all_fails.cost_most_usd is not None
    assert few.cost_most_usd == pytest.approx(
        all_fails.cost_most_usd * few.most_requests / all_fails.most_requests, rel=0.01
    )


def test_a_judge_whose_word_may_count_is_forecast_with_its_controls(asked):
    with_controls, without = (
        forecast(asked("openai/gpt-4o", judge="openai/gpt-4o-mini", judge_overrules=overrules)).judge
        for overrules in (True, False)
    )
    assert with_controls is not None
    assert without is not None
    assert without.control_requests == 0
    assert with_controls.control_requests >= 2 * 2 * 24
    for count in ("most_requests", "requests_if_all_pass"):
        more = getattr(with_controls, count) - getattr(without, count)
        assert more == with_controls.control_requests
    assert with_controls.most_input_tokens > without.most_input_tokens
    assert f"{with_controls.control_requests:,} of them controls" in describe_judge(with_controls)


def test_a_forecast_as_json_reads_back(asked):
    expected = forecast(asked("openai/gpt-4o", judge="simulated/fair"))
    read = json.loads(expected.as_json())
    assert read["models"]["openai/gpt-4o"]["input_tokens"] == read["input_tokens"] == expected.input_tokens
    assert read["judge"]["cost_most_usd"] == 0


def load(model: str, requests: int, tokens: float, waiting_s: float, *own: str, **limits: Any) -> Load:
    provider, _, name = model.partition("/")
    target = Target(
        model=model,
        provider=provider,
        name=name,
        connector="openai",
        limits=Limits(**limits),
        own_limits=own,
        prices=Prices(input=1, output=1),
        batch=Batching(),
    )
    return Load(target, requests, tokens, waiting_s)


def test_time_is_that_of_the_tightest_limit():
    assert seconds([load("a/1", 100, 5000, 200.0, concurrency=10)]) == 20.0
    assert seconds([load("a/1", 100, 5000, 200.0, concurrency=10, requests_per_minute=100)]) == 60.0
    assert seconds([load("a/1", 100, 5000, 200.0, concurrency=10, tokens_per_minute=2500)]) == 120.0
    assert seconds([]) == 0.0


def test_models_that_share_a_limit_wait_for_each_other():
    shared = {"concurrency": 100, "requests_per_minute": 100}
    both = [load(f"a/{number}", 100, 0, 0, **shared) for number in (1, 2)]
    assert seconds(both) == 120.0
    apart = [load(f"{provider}/1", 100, 0, 0, **shared) for provider in "ab"]
    assert seconds(apart) == 60.0
    own = [load(f"a/{number}", 100, 0, 0, "requests_per_minute", **shared) for number in (1, 2)]
    assert seconds(own) == 60.0


def test_what_answers_in_process_takes_no_time_and_a_service_does(asked):
    assert forecast(asked("simulated/fair")).seconds == 0
    remote = forecast(asked("openai/gpt-4o"))
    assert remote.seconds >= round(remote.requests * FIRST_TOKEN_S / 64, 1)
    assert forecast(asked("openai/gpt-4o", batch=True)).seconds == 0


@pytest.fixture
def ran(tmp_path: Path) -> Callable[[ResolvedScenario], tuple[Lake, str]]:
    """Asks a scenario's whole grid, without Prefect, or only its first cells: `ran(resolved, cells=1)`."""

    def run(resolved: ResolvedScenario, cells: int | None = None) -> tuple[Lake, str]:
        lake = Lake.open(tmp_path / "data")
        return lake, asyncio.run(_asked_all(lake, resolved, cells))

    return run


async def _asked_all(lake: Lake, resolved: ResolvedScenario, some: int | None) -> str:
    catalog, settings = resolved.catalog, resolved.settings
    run = begin_run(lake, resolved.given, resolved.as_json(), catalog.hashes, settings.seed)
    frame = instances(resolved.requirements[0], "en_us", catalog, settings)
    cells = land_cases(lake, run.run_id, frame, resolved.targets.values(), settings, catalog)
    record_planned(lake, run.run_id, cells)
    async with ModelPool(catalog) as model_pool:
        for cell in cells.to_dicts()[:some]:
            cases = lake.read("cases", run.run_id, cell["cell_id"])
            await prompt_cell(lake, cases, resolved.targets[cell["model"]], model_pool, retries=0)
    return run.run_id


@pytest.mark.parametrize("model", ["openai/gpt-4o", "simulated/fair"])
def test_input_tokens_are_those_that_are_reported(asked, ran, serve, monkeypatch, model):
    server = serve("fair")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.base_url}/v1")
    resolved = asked(model, inputs=BOTH, samples=2)
    lake, run_id = ran(resolved)
    replies = lake.read("responses", run_id)
    expected = forecast(resolved)
    assert (expected.requests, expected.input_tokens) == (replies.height, replies["input_tokens"].sum())
    assert expected.models[model].input_is_exact
    assert model == "simulated/fair" or len(server.bodies) == expected.requests


def test_earlier_replies_predict_the_length_of_the_next_ones(asked, ran):
    resolved = asked("simulated/fair", samples=ENOUGH)
    lake, run_id = ran(resolved)
    replies = lake.read("responses", run_id)
    expected = forecast(resolved, lake).models["simulated/fair"]
    assert expected.output_seen == replies.height
    assert expected.output_tokens == replies["output_tokens"].sum()
    other = asked("simulated/fair", max_tokens=61)
    assert forecast(other, lake) == forecast(other), "replies under another bound tell nothing"


def test_of_a_run_that_goes_on_only_what_has_no_reply_is_left(asked, ran):
    resolved = asked("simulated/fair", inputs=BOTH)
    lake, run_id = ran(resolved, cells=1)
    whole, answered = forecast(resolved), lake.read("responses", run_id).height
    left = forecast_rest(resolved, lake, run_id)
    assert left.requests == whole.requests - answered
    assert left.input_tokens < whole.input_tokens
    fresh = begin_run(lake, "", resolved.as_json(), {}, 0).run_id
    # whether requirements can be decided was reported before the run began
    assert forecast_rest(resolved, lake, fresh) == replace(whole, power=[], cautions=[])
    assert whole.power


def test_a_lake_without_runs_changes_nothing(asked, tmp_path):
    resolved = asked("openai/gpt-4o")
    expected: Forecast = forecast(resolved, Lake(tmp_path))
    assert expected == forecast(resolved)
